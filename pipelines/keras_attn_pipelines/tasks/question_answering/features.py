"""Questions about stories as named features."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_attn.contracts import PAD_ID, QUESTION, STORY, TARGET, UNKNOWN_ID
from keras_attn.text.plain_words import plain_words
from keras_attn.text.symbol_table import SymbolTable
from keras_attn_pipelines.data.batches import Batches
from keras_attn_pipelines.data.readers.babi_reader import StoryQuestion
from keras_attn_pipelines.data.sequence_examples import SequenceExamples, in_parts
from keras_attn_pipelines.data.skipped import Skipped, listing
from keras_attn_pipelines.data.tables import RaggedTable
from keras_attn_pipelines.data.training_data import TrainingData
from keras_attn_pipelines.tasks.question_answering.names import WORDS


def learn_words(records: Sequence[StoryQuestion]) -> dict[str, SymbolTable]:
    """The words of stories and questions, and the answers, each of which is one word."""
    sentences = sorted({text for record in records for text in (*record.story, record.question)})
    lines = plain_words(tf.constant(sentences)).numpy()
    words = {word for line in lines for word in line.decode().split()}
    return {WORDS: SymbolTable(sorted(words | {record.answer for record in records}))}


@dataclass(frozen=True)
class Sentences:
    """Encoded sentences, each once.

    Attributes:
        places: dict from a sentence to its row.
        tokens: int32 (rows, W), PAD_ID after each sentence.
    """

    places: dict[str, int]
    tokens: np.ndarray

    @classmethod
    def of(cls, texts: Sequence[str], words: SymbolTable) -> "Sentences":
        """Encodes the different ones among texts."""
        different = list(dict.fromkeys(texts))
        ragged = in_parts(lambda part: words.encode(plain_words(part)), different)
        places = {text: place for place, text in enumerate(different)}
        return cls(places, ragged.to_tensor(PAD_ID).numpy())

    def rows(self, texts: Sequence[str]) -> np.ndarray:
        """int32 (len(texts), W)."""
        return self.tokens[[self.places[text] for text in texts]]

    def unknown(self, texts: Sequence[str]) -> str:
        """The first sentence with an unknown word; '' if there is none."""
        return next((text for text in texts if UNKNOWN_ID in self.tokens[self.places[text]]), "")


def encode(task, records, vocabularies, setting) -> TrainingData:
    """Training data of questions about stories: see `Task.encode`."""
    words, splits, skipped = vocabularies[WORDS], {}, []
    lines, examples = [], {}
    for name in ("train", "dev"):
        questions = records.splits[name]
        stories = Sentences.of([text for record in questions for text in record.story], words)
        asked = Sentences.of([record.question for record in questions], words)
        reasons = [_reason(record, stories, asked, words) for record in questions]
        refused = [
            Skipped(Path(record.file), record.line, reason)
            for record, reason in zip(questions, reasons)
            if reason
        ]
        splits[name] = [record for record, reason in zip(questions, reasons) if not reason]
        if refused and (name == "train" or not splits[name]):
            raise ValueError(
                f"Expected questions of {name} whose words the vocabulary has. Received: "
                f"{len(refused)} others of {len(questions)}{listing(refused)}"
            )
        skipped += refused
        examples[name] = _examples(task, splits[name], stories, asked, words)
        lines += _dropped(task, name, splits[name])
    sizes = examples["train"].sizes(setting.fit.batch_size, 0, setting.replicas)
    batches = {
        name: Batches(split, sizes, _arrange, setting.fit.seed) for name, split in examples.items()
    }
    padding = examples["train"].padding(sizes, (STORY,))
    lengths = ", ".join(map(str, task.lengths))
    lines.append(f"stories of up to {lengths} sentences: {padding:.1%} padding")
    train = batches["train"]
    dev = batches["dev"].dataset()
    return TrainingData(
        splits,
        train.training,
        dev,
        train.steps,
        skipped,
        lines,
        batch=train.graph_batch,
        extra=words,
    )


def _reason(record, stories, asked, words):
    """Why a question cannot be used; '' if it can."""
    if sentence := stories.unknown(record.story) or asked.unknown([record.question]):
        return f"a word that the vocabulary does not have: {sentence!r:.80}"
    if words.id_of(record.answer) is None:
        return f"an answer that the vocabulary does not have: {record.answer!r:.80}"
    return ""


def _examples(task, questions, stories, asked, words):
    """`SequenceExamples`; of a long story only the newest sentences."""
    kept = [record.story[-task.lengths[-1] :] for record in questions]
    counts = [len(story) for story in kept]
    sentences = stories.rows([text for story in kept for text in story])
    starts = np.concatenate([[0], np.cumsum(counts)]).astype("int64")
    tables = {
        STORY: RaggedTable(sentences, starts),
        QUESTION: RaggedTable.of(asked.rows([record.question for record in questions])),
        TARGET: RaggedTable.of([[words.id_of(record.answer)] for record in questions]),
    }
    buckets = len(task.lengths)
    lengths = {
        STORY: task.lengths,
        QUESTION: (asked.tokens.shape[1],) * buckets,
        TARGET: (1,) * buckets,
    }
    return SequenceExamples.of(tables, lengths)[0]


def _dropped(task, name, questions):
    """A line on stories that are longer than the memory, if there are any."""
    most = task.lengths[-1]
    over = [len(record.story) - most for record in questions if len(record.story) > most]
    if not over:
        return []
    return [
        f"{len(over)} of {len(questions)} stories of {name} have more than {most} sentences: "
        f"their oldest are dropped, {sum(over)} in all"
    ]


def _arrange(features, step):
    answers = features[TARGET][:, 0]
    weights = tf.cast(answers != PAD_ID, tf.float32)
    return {STORY: features[STORY], QUESTION: features[QUESTION]}, answers, weights

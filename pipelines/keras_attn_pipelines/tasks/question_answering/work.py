"""Questions about stories, scored by the error of each task, beside the paper's."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from keras_attn.contracts import (
    DROPPED,
    LABEL_SCORES,
    LABELS,
    PAD_ID,
    QUESTION,
    STORY,
    TARGET,
    UNKNOWN_ID,
)
from keras_attn.serving import LabelService, classifier_functions, readers, views, writers
from keras_attn.text.plain_words import plain_words
from keras_attn.text.symbol_table import SymbolTable
from keras_attn.training.linear_start import LinearStart
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.token_accuracy import TokenAccuracy
from keras_attn_pipelines.data.batches import Batches
from keras_attn_pipelines.data.sequence_examples import SequenceExamples, in_parts
from keras_attn_pipelines.data.skipped import Skipped, listing
from keras_attn_pipelines.data.tables import RaggedTable
from keras_attn_pipelines.data.training_data import TrainingData
from keras_attn_pipelines.data.vocabulary import WORDS
from keras_attn_pipelines.experiment.evaluation import Evaluation
from keras_attn_pipelines.experiment.parts import Callbacks, Objective, Request

if TYPE_CHECKING:
    from keras_attn_pipelines.tasks.question_answering.settings import QuestionAnswering

FAILED = 0.05
"""Error above which a task counts as failed."""
PAPER = (
    *(0.0, 11.4, 21.9, 13.4, 14.4, 2.8, 18.3, 9.3, 1.9, 6.5),
    *(0.3, 0.1, 0.2, 6.9, 0.0, 2.7, 40.4, 9.4, 88.0, 0.0),
)
"""Test error in percent of tasks 1 to 20 in Sukhbaatar et al. 2015, table 1: 1,000 training
questions a task, joint training, 3 hops, position encoding, linear start, random noise."""


@dataclass(frozen=True)
class QuestionAnsweringWork:
    """See `Work`."""

    task: "QuestionAnswering"

    def vocabulary_types(self):
        """See `Work`."""
        return {WORDS: SymbolTable}

    def learn(self, records):
        """See `Work`: the words of stories and questions, and the answers, of one word each."""
        sentences = {text for record in records for text in (*record.story, record.question)}
        lines = plain_words(tf.constant(sorted(sentences))).numpy()
        words = {word for line in lines for word in line.decode().split()}
        return {WORDS: SymbolTable(sorted(words | {record.answer for record in records}))}

    def encode(self, records, vocabularies, setting):
        """See `Work`."""
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
            examples[name] = _examples(self.task, splits[name], stories, asked, words)
            lines += _dropped(self.task, name, splits[name])
        sizes = examples["train"].sizes(setting.fit.batch_size, 0, setting.replicas)
        batches = {
            name: Batches(split, sizes, _arrange, setting.fit.seed)
            for name, split in examples.items()
        }
        padding = examples["train"].padding(sizes, (STORY,))
        lengths = ", ".join(map(str, self.task.lengths))
        details = [f"stories of up to {lengths} sentences: {padding:.1%} padding"]
        train = batches["train"]
        dev = batches["dev"].dataset()
        return TrainingData(splits, train.training, dev, train.steps, skipped, lines, details)

    def objective(self, model, data, steps, seed):
        """See `Work`."""
        return Objective(model, TokenCrossEntropy(), [TokenAccuracy("accuracy")])

    def callbacks(self, model, data, setting, folder):
        """See `Work`: ends the linear start of a model that has one."""
        if not LinearStart.suits(model):
            return Callbacks()
        epochs = min(self.task.linear_epochs, setting.fit.epochs // 3) or None
        return Callbacks(pictures=[LinearStart(model, self.task.linear_patience, epochs)])

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Work`."""
        words = vocabularies[WORDS]
        return LabelService(
            model,
            readers.QuestionReader(words),
            writers.LabelWriter(words, n_best),
            classifier_functions.question_functions(model),
            vocabularies,
            views.story_views(model.reader),
            {"memory_size": model.memory_size, "reader": model.reader},
        )

    def request(self, record):
        """See `Work`."""
        inputs = {STORY: "\n".join(record.story).encode(), QUESTION: record.question.encode()}
        return Request(f"{record.file}:{record.line}", inputs, len(record.story))

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Work`."""
        answered = [answer[LABELS][0].decode() for answer in answers]
        tasks = np.array([record.task for record in records])
        wrong = np.array([label != record.answer for label, record in zip(answered, records)])
        errors = {int(task): float(wrong[tasks == task].mean()) for task in np.unique(tasks)}
        mean = sum(errors.values()) / len(errors)
        failed = sum(error > FAILED for error in errors.values())
        dropped = [int(answer[DROPPED]) for answer in answers if answer[DROPPED]]
        lost = f"the oldest sentences were dropped, {sum(dropped)} in all"
        long = f"; of {len(dropped)} long stories {lost}" if dropped else ""
        rows = "".join(
            f"\n| {task} | {100 * error:.1f} | {_paper(task)} |" for task, error in errors.items()
        )
        return Evaluation(
            scores={
                "accuracy": 1 - float(wrong.mean()),
                "mean_error": mean,
                "failed_tasks": failed,
            },
            cells={
                "mean error": f"{100 * mean:.1f}%",
                f"failed tasks (error > {FAILED:.0%})": f"{failed} of {len(errors)}",
                "accuracy": f"{100 * (1 - wrong.mean()):.1f}%",
            },
            count=len(records),
            unit="questions",
            note=f"{long}\n\n| task | error, % | paper, % |\n| --- | --- | --- |{rows}",
            facts={
                "dropped": sum(dropped),
                "errors": {str(task): error for task, error in errors.items()},
                "answers": [
                    {
                        "task": record.task,
                        "question": record.question,
                        "answer": record.answer,
                        "label": label,
                        "score": float(answer[LABEL_SCORES][0]),
                    }
                    for record, answer, label in zip(records, answers, answered)
                ],
            },
        )

    def card(self, service, description):
        """See `Work`."""
        most = service.model.memory_size
        return {
            "What it does": f"Answers questions about short stories: {description}.",
            "Service": "Signature `serving_default`: story (UTF-8, a sentence on each line) and "
            "question to labels (the answers), scores (probabilities), dropped, error. `explain`: "
            "also sentences and weights (how much of each sentence each hop or head read). Of a "
            f"story longer than {most} sentences the oldest are dropped, and dropped counts them.",
        }


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


def _paper(task):
    return f"{PAPER[task - 1]:.1f}" if 1 <= task <= len(PAPER) else ""

"""Constituency parsing, scored by EVALB's rules."""

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import keras
import numpy as np
import tensorflow as tf

from keras_attn.contracts import LOGITS, SOURCE, TAG_LOGITS, TARGET, TEXT, TOKENS
from keras_attn.evaluation.brackets import compare_brackets
from keras_attn.evaluation.right_branching import RightBranching
from keras_attn.serving import AnswerLength, GenerationService, readers, views, writers
from keras_attn.serving.in_graph import in_graph
from keras_attn.serving.readers.reasons import MOST_BYTES
from keras_attn.text.bracket_text import bracket_text, parse_tree
from keras_attn.text.linearization import WORD, chain_counts, linearize
from keras_attn.text.symbol_table import SymbolTable
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.text.trees import depth, leaves, retagged
from keras_attn.text.words import split_words, word_pieces
from keras_attn.training.teacher_forcing import target_weights, teacher_forcing
from keras_attn_pipelines.data.sequence_examples import ended, in_parts
from keras_attn_pipelines.data.sequence_training import (
    SequenceFormat,
    sequence_training_data,
    skipped_pairs,
    usable_pairs,
)
from keras_attn_pipelines.data.tables import RaggedTable
from keras_attn_pipelines.data.vocabulary import SOURCE_TOKENIZER, TAGS, TOKENIZER
from keras_attn_pipelines.experiment.beam_search import search_text
from keras_attn_pipelines.experiment.evaluation import Evaluation, best_texts, listed_texts
from keras_attn_pipelines.experiment.parts import Callbacks, Request
from keras_attn_pipelines.experiment.token_objective import token_objective

if TYPE_CHECKING:
    from keras_attn_pipelines.tasks.parsing.settings import Parsing

TAG = "tag"
"""Table of the tags, one per word, and PAD_ID for the end."""
LABELS = {
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
    "exact": "exact match",
    "tagging": "tagging",
    "f1_true_tags": "F1, true tags",
    "right_branching_f1": "right-branching F1",
}
NOTE = (
    "In percent, by EVALB's rules with COLLINS.prm, on sentences of any length; F1, precision and "
    "recall are over the labeled brackets of all sentences. EVALB identifies punctuation by its "
    "tags and skips sentences in which a wrong tag turns punctuation into a word; with the true "
    "tags every sentence with a tree counts. Right-branching: every constituent extends to the end "
    "of the sentence, with this split's most frequent label for the tag of its first word."
)


@dataclass(frozen=True)
class ParsingWork:
    """See `Work`."""

    task: "Parsing"
    metric_names = LABELS

    def vocabulary_types(self):
        """See `Work`."""
        return {TOKENIZER: SymbolTable, SOURCE_TOKENIZER: Tokenizer, TAGS: SymbolTable}

    def learn(self, records):
        """See `Work`: symbols of the trees, pieces of the words, tags."""
        rows = [linearize(pair.target) for pair in records]
        symbols = {symbol for row in rows for symbol in row.symbols}
        if symbols == {WORD}:
            raise ValueError("Expected trees with constituents. Received: words alone")
        return {
            TOKENIZER: SymbolTable([WORD, *sorted(symbols - {WORD})]),
            SOURCE_TOKENIZER: self.task.pieces.learn([pair.source for pair in records]),
            TAGS: SymbolTable(sorted({tag for row in rows for tag in row.tags})),
        }

    def encode(self, records, vocabularies, setting):
        """See `Work`."""
        task = self.task
        records, refused = usable_pairs(records, functools.partial(unusable, task))
        unknown = {
            name: [
                (pair, reason)
                for pair in records.splits[name]
                if (reason := _unknown(pair, vocabularies))
            ]
            for name in ("train", "dev")
        }
        if unknown["train"]:
            place = skipped_pairs(records.files.get("train"), unknown["train"][:1])[0]
            raise ValueError(
                "Expected training pairs covered by the vocabularies. Received: "
                f"{len(unknown['train'])}, such as {place}"
            )
        form = SequenceFormat(
            encode=_tables(task, vocabularies),
            lengths={SOURCE: task.source_lengths, TARGET: task.lengths, TAG: task.source_lengths},
            units=("words", "symbols"),
            arrange=_arrange,
            setting=setting,
        )
        lines = task.pieces.notes(**{SOURCE_TOKENIZER: vocabularies[SOURCE_TOKENIZER]})
        data = sequence_training_data(records, form, vocabularies, lines, refused)
        if not unknown["dev"]:
            return data
        line = (
            f"{len(unknown['dev'])} dev pairs have labels or tags that train lacks, which are "
            f"never predicted, such as {unknown['dev'][0][1]}"
        )
        return replace(data, lines=[*data.lines, line])

    def objective(self, model, data, steps, seed):
        """See `Work`: cross-entropy of the next symbol, and of each word's tag."""
        task = self.task
        sampled = task.scheduled_sampling_rate
        return token_objective(model, task.label_smoothing, sampled, steps, seed, task.spec.targets)

    def callbacks(self, model, data, setting, folder):
        """See `Work`: scores of `scored` trees, evenly spaced among those of dev that fit."""
        service = self.service(model, data.extra.vocabularies, setting.model, beam_width=1)
        pairs = data.extra.splits["dev"].pairs
        scored = pairs[:: -(-len(pairs) // self.task.scored)]
        return Callbacks([TreeScores(service, scored, self.task.spec.monitors)])

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Work`."""
        task, words = self.task, vocabularies[SOURCE_TOKENIZER]
        symbols, tags = vocabularies[TOKENIZER], vocabularies[TAGS]
        return GenerationService(
            model,
            readers.SentenceReader(words, task.source_lengths[-1], task.word_pieces),
            writers.BracketWriter(symbols, tags, task.max_unary_chain, task.max_depth),
            task.search.strategy(beam_width, n_best),
            AnswerLength.of_trees(task.lengths[-1], task.source_lengths[-1]),
            vocabularies,
            views.TREE_VIEWS,
        )

    def request(self, record):
        """See `Work`."""
        return Request.of_text(record.source)

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Work`."""
        parsed = [parse_tree(text) if text else None for text in best_texts(answers)]
        trees = [record.target for record in records]
        report = compare_brackets(parsed, trees)
        bare = [with_true_tags(*both) for both in zip(parsed, records)]
        scores = {
            **report.scores(),
            "f1_true_tags": compare_brackets(bare, trees).scores()["f1"],
            "right_branching_f1": _right_branching(trees),
        }
        unscored = [f"{records[n].source!r:.80}: {why}" for n, why in report.unscored()]
        rows = [
            {"source": record.source, "reference": bracket_text(record.target)}
            for record in records
        ]
        return Evaluation(
            scores=scores,
            cells={label: f"{scores[key]:.2f}" for key, label in LABELS.items()},
            count=len(records),
            unit="trees",
            note=f"; {len(unscored)} of them could not be compared and count in no score. {NOTE}",
            facts={
                "unscored": unscored,
                "texts": listed_texts(answers, rows),
                "rules": "EVALB, COLLINS.prm",
            },
            beam_width=metadata["beam_width"],
        )

    def card(self, service, description):
        """See `Work`."""
        most, writer = service.length, service.writer
        return {
            "What it does": f"Writes the constituency tree of a sentence in brackets: "
            f"{description}.",
            "Service": "Signature `serving_default`: source (UTF-8; words and punctuation marks "
            "with a space between them) to text (a tree in brackets over exactly these words; "
            "round brackets become -LRB- and -RRB-), score (nats), error. `explain`: also tags, "
            "source_pieces (the words), tokens, pieces (the symbols), token_scores, weights (the "
            "last layer's, mean over its heads, by word). `attention`: source to the best text and "
            "the weights of every layer and head. A sentence has at most "
            f"{service.reader.max_source - 1} words, a tree at most {most.factor} times as many "
            f"symbols as words and {most.extra} more, with at most {writer.max_unary_chain} "
            f"constituents around the same words and {writer.max_depth} inside each other.",
            "Search": search_text(service),
        }


class TreeScores(keras.callbacks.Callback):
    """Scores greedy trees of some sentences after each epoch as `val_…` in the logs.

    Brackets are compared with the gold tags inserted, so that every sentence counts: EVALB skips
    sentences in which a wrong tag turns punctuation into a word. val_tagging scores the parser's
    own tags.

    Args:
        service: `GenerationService` of a parser that decodes greedily.
        pairs: sentences with their trees, readable by the service.
        keys: scores of `BracketReport` to add.
        batch: int. Batch size; sentences of similar length share a batch.
    """

    changes_model = False

    def __init__(self, service: GenerationService, pairs, keys, batch=64):
        super().__init__()
        self.pairs = sorted(pairs, key=lambda pair: len(pair.source))
        self.keys, self.batch = keys, batch
        signature = [tf.TensorSpec((None,), tf.string)]
        self.answer = in_graph(service.answer, signature)

    def on_epoch_end(self, epoch, logs=None):
        parsed, true = [], [pair.target for pair in self.pairs]
        for start in range(0, len(self.pairs), self.batch):
            sources = [pair.source for pair in self.pairs[start : start + self.batch]]
            answers = self.answer(tf.constant(sources))[TEXT][:, 0].numpy()
            parsed += [parse_tree(text.decode()) for text in answers]
        bare = [with_true_tags(*both) for both in zip(parsed, self.pairs)]
        scores = compare_brackets(bare, true).scores()
        both = zip(parsed, true)
        right = [
            leaf.tag == other.tag
            for own, tree in both
            for leaf, other in zip(leaves(own), leaves(tree))
        ]
        scores["tagging"] = 100 * float(np.mean(right))
        logs.update({f"val_{key}": scores[key] for key in self.keys})


def _tables(task, vocabularies):
    """A function from pairs to tables of word pieces, symbols and tags."""

    def pieces(sentences):
        return word_pieces(split_words(sentences), vocabularies[SOURCE_TOKENIZER], task.word_pieces)

    def tables(pairs):
        rows = [linearize(pair.target) for pair in pairs]
        symbols = in_parts(vocabularies[TOKENIZER].encode, [" ".join(row.symbols) for row in rows])
        tags = in_parts(vocabularies[TAGS].encode, [" ".join(row.tags) for row in rows])
        return {
            SOURCE: RaggedTable.of_ragged(in_parts(pieces, [pair.source for pair in pairs])),
            TARGET: ended(symbols),
            TAG: RaggedTable.of_ragged(tags),
        }

    return tables


def _arrange(features, step):
    targets = {LOGITS: features[TARGET], TAG_LOGITS: features[TAG]}
    inputs = {SOURCE: features[SOURCE], TOKENS: teacher_forcing(features[TARGET]).tokens}
    return inputs, targets, {name: target_weights(ids) for name, ids in targets.items()}


def unusable(task, pair) -> str:
    """Why a pair is unusable: the search could never produce its tree; '' if it is usable."""
    chain, levels = max(chain_counts([pair.target]), default=0), depth(pair.target)
    if chain > task.max_unary_chain:
        return f"a chain of {chain} constituents (expected at most {task.max_unary_chain})"
    if levels > task.max_depth:
        return f"{levels} constituents inside each other (expected at most {task.max_depth})"
    row, size = linearize(pair.target), len(pair.source.encode())
    length = AnswerLength.of_trees(task.lengths[-1], task.source_lengths[-1])
    most = length.factor * len(row.words) + length.extra
    if len(row.symbols) >= most:
        return f"{len(row.symbols)} symbols for {len(row.words)} words (expected under {most})"
    if size > MOST_BYTES:
        return f"a sentence of {size} bytes (expected at most {MOST_BYTES})"
    return ""


def _unknown(pair, vocabularies) -> str:
    """A pair's labels and tags that are not in the vocabularies; '' if all are."""
    row = linearize(pair.target)
    known = set(vocabularies[TOKENIZER].names)
    strange = {symbol[1:] for symbol in set(row.symbols) - known}
    strange |= set(row.tags) - set(vocabularies[TAGS].names)
    return f"unknown labels or tags: {', '.join(sorted(strange))}" if strange else ""


def with_true_tags(parsed, record):
    """A parsed tree with the record's tags; unchanged if it is None or has other words."""
    tags = [leaf.tag for leaf in leaves(record.target)]
    fits = parsed is not None and len(leaves(parsed)) == len(tags)
    return retagged(parsed, tags) if fits else parsed


def _right_branching(trees):
    """F1 of the baseline in percent; 0 if no tree has a constituent of several words."""
    try:
        parser = RightBranching.learn(trees)
    except ValueError:
        return 0.0
    sentences = [leaves(tree) for tree in trees]
    parsed = [
        parser.parse([leaf.word for leaf in words], [leaf.tag for leaf in words])
        for words in sentences
    ]
    return compare_brackets(parsed, trees).scores()["f1"]

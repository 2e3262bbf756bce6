"""Sentences with their trees as named features."""

import functools
from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf

from keras_attn.contracts import LOGITS, SOURCE, TAG_LOGITS, TARGET, TOKENS
from keras_attn.serving import AnswerLength
from keras_attn.serving.readers.reasons import MOST_BYTES
from keras_attn.text.linearization import WORD, chain_counts, linearize
from keras_attn.text.symbol_table import SymbolTable
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.text.trees import depth
from keras_attn.text.words import split_words, word_pieces
from keras_attn_pipelines.data.pair_training import (
    PairFormat,
    PairSplit,
    pair_training_data,
    skipped_pairs,
    usable_pairs,
)
from keras_attn_pipelines.data.sequence_examples import ends, in_parts, real, teacher_forced
from keras_attn_pipelines.data.tables import RaggedTable
from keras_attn_pipelines.data.vocabulary import smaller_than_asked
from keras_attn_pipelines.tasks.parsing.names import SYMBOLS, TAGS, WORDS

TAG = "tag"
"""Table of the tags, one per word, and PAD_ID for the end."""


@dataclass(frozen=True)
class TreeFeatures:
    """What the task needs again during training.

    Attributes:
        splits: dict of the `PairSplit`s of "train" and "dev".
        vocabularies: dict of vocabularies by name.
    """

    splits: dict[str, PairSplit]
    vocabularies: dict[str, Any]


def learn(task, pairs):
    """Symbols of the trees, pieces of the words, and tags: see `Task.learn`."""
    rows = [linearize(pair.target) for pair in pairs]
    symbols = {symbol for row in rows for symbol in row.symbols}
    if symbols == {WORD}:
        raise ValueError("Expected trees with constituents. Received: words alone")
    texts = [pair.source for pair in pairs]
    return {
        SYMBOLS: SymbolTable([WORD, *sorted(symbols - {WORD})]),
        WORDS: Tokenizer.learn(texts, task.vocabulary_size, task.lowercase),
        TAGS: SymbolTable(sorted({tag for row in rows for tag in row.tags})),
    }


def encode(task, records, vocabularies, setting):
    """Training data of trees: see `Task.encode`."""
    records, refused = usable_pairs(records, functools.partial(unusable, task))
    unknown = {
        name: [(pair, reason) for pair in pairs if (reason := _unknown(pair, vocabularies))]
        for name, pairs in records.splits.items()
        if name in ("train", "dev")
    }
    if strange := unknown["train"]:
        place = skipped_pairs(records.files.get("train"), strange[:1])[0]
        raise ValueError(
            "Expected training pairs covered by the vocabularies. Received: "
            f"{len(strange)}, such as {place}"
        )
    form = PairFormat(
        encode=_tables(task, vocabularies),
        lengths={
            SOURCE: task.source_lengths,
            TARGET: task.lengths,
            TAG: task.source_lengths,
        },
        units=("words", "symbols"),
        arrange=_arrange,
        batch_size=setting.fit.batch_size,
        batch_tokens=setting.fit.batch_tokens,
        replicas=setting.replicas,
        seed=setting.fit.seed,
    )
    lines = smaller_than_asked({WORDS: vocabularies[WORDS]}, task.vocabulary_size)
    data = pair_training_data(records, form, lines)
    lines = list(data.lines)
    if strange := unknown["dev"]:
        lines.append(
            f"{len(strange)} dev pairs have labels or tags that train lacks, which are never "
            f"predicted, such as {strange[0][1]}"
        )
    extra = TreeFeatures(data.extra, dict(vocabularies))
    return replace(data, skipped=[*refused, *data.skipped], lines=lines, extra=extra)


def _tables(task, vocabularies):
    """A function from pairs to tables of word pieces, symbols and tags."""

    def pieces(sentences):
        return word_pieces(split_words(sentences), vocabularies[WORDS], task.word_pieces)

    def tables(pairs):
        rows = [linearize(pair.target) for pair in pairs]
        symbols = in_parts(vocabularies[SYMBOLS].encode, [" ".join(row.symbols) for row in rows])
        tags = in_parts(vocabularies[TAGS].encode, [" ".join(row.tags) for row in rows])
        return {
            SOURCE: RaggedTable.of_ragged(in_parts(pieces, [pair.source for pair in pairs])),
            TARGET: RaggedTable.of_ragged(tf.concat([symbols, ends(len(pairs))], axis=1)),
            TAG: RaggedTable.of_ragged(tags),
        }

    return tables


def _arrange(features, step):
    targets = {LOGITS: features[TARGET], TAG_LOGITS: features[TAG]}
    inputs = {SOURCE: features[SOURCE], TOKENS: teacher_forced(features[TARGET])}
    return inputs, targets, {name: real(ids) for name, ids in targets.items()}


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
    known = set(vocabularies[SYMBOLS].names)
    strange = {symbol[1:] for symbol in set(row.symbols) - known}
    strange |= set(row.tags) - set(vocabularies[TAGS].names)
    return f"unknown labels or tags: {', '.join(sorted(strange))}" if strange else ""

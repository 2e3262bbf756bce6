"""Sets of facts with texts as named features."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from keras_attn.contracts import SOURCE, TARGET, TOKENS
from keras_attn.serving.fact_sets import field_names, read_fact_sets, readable_facts
from keras_attn.text.symbol_table import SymbolTable
from keras_attn.text.tokenizer import Tokenizer
from keras_attn_pipelines.data.facts import Fact, FactSet, fact_texts
from keras_attn_pipelines.data.pair_training import (
    PairFormat,
    PairSplit,
    pair_training_data,
    usable_pairs,
)
from keras_attn_pipelines.data.sequence_examples import ends, in_parts, real, teacher_forced
from keras_attn_pipelines.data.tables import RaggedTable
from keras_attn_pipelines.data.vocabulary import smaller_than_asked
from keras_attn_pipelines.tasks.data_to_text.made_up_names import (
    NAMED,
    MadeUpNames,
    named_pieces,
)
from keras_attn_pipelines.tasks.data_to_text.names import FIELDS, TOKENIZER

ROWS = 4096
"""Sets of facts that are encoded at a time."""


@dataclass(frozen=True)
class FactFeatures:
    """What the task needs again during training.

    Attributes:
        sets: dict of the records of "train" and "dev".
        splits: dict of the `PairSplit`s of "train" and "dev".
        vocabularies: dict of the tokenizer and the table of fields.
    """

    sets: dict[str, Sequence[FactSet]]
    splits: dict[str, PairSplit]
    vocabularies: dict[str, Any]


def learn(task, records: Sequence[FactSet]) -> dict[str, Any]:
    """The pieces of names and texts, and the fields of the link matrix."""
    facts = sorted({fact for record in records for fact in record.facts})
    names = readable_facts(tf.constant(facts)).numpy().ravel().tolist()
    spelled = sorted({name.decode() for name in names})
    texts = [text for record in records for text in record.texts]
    properties = sorted({fact[1] for fact in facts})
    fields = field_names(tf.constant(properties)).numpy().tolist()
    return {
        TOKENIZER: Tokenizer.learn(spelled + texts, task.vocabulary_size, task.lowercase),
        FIELDS: SymbolTable(sorted({field.decode() for field in fields})),
    }


def strings_of(facts: Sequence[Fact], count: int) -> np.ndarray:
    """The parts of facts in UTF-8, (count, 3), '' after the last."""
    rows = np.full((count, 3), b"", object)
    rows[: len(facts)] = [[part.encode() for part in fact] for fact in facts]
    return rows


def read_sets(task, sets: Sequence[Sequence[Fact]], vocabularies) -> Any:
    """`read_fact_sets` of facts, padded to the largest set."""
    count = max(map(len, sets))
    strings = np.stack([strings_of(facts, count) for facts in sets])
    return read_fact_sets(
        tf.constant(strings, tf.string),
        vocabularies[TOKENIZER],
        vocabularies[FIELDS],
        task.max_facts,
        task.source_lengths[-1],
    )


def encode(task, records, vocabularies, setting):
    """Training data of facts with texts: see `Task.encode`."""
    reasons = {}
    for name in ("train", "dev"):
        for start in range(0, len(records.splits[name]), ROWS):
            sets = [record.facts for record in records.splits[name][start : start + ROWS]]
            read = read_sets(task, sets, vocabularies).reasons.numpy().tolist()
            reasons |= dict(zip(sets, (reason.decode() for reason in read)))
    records, refused = usable_pairs(records, lambda record: reasons.get(record.facts, ""))
    lines = smaller_than_asked({TOKENIZER: vocabularies[TOKENIZER]}, task.vocabulary_size)
    sets = {name: records.splits[name] for name in ("train", "dev")}
    pairs = replace(
        records, splits={name: fact_texts(split) for name, split in records.splits.items()}
    )
    data = pair_training_data(pairs, _format(task, vocabularies, setting), lines)
    return replace(
        data,
        splits=records.splits,
        skipped=[*refused, *data.skipped],
        extra=FactFeatures(sets, data.extra, dict(vocabularies)),
    )


def _format(task, vocabularies, setting) -> PairFormat:
    """How facts with a text become batches."""

    made_up = MadeUpNames(vocabularies[TOKENIZER], task.made_up_names, setting.fit.seed)

    def tables(pairs):
        targets = in_parts(vocabularies[TOKENIZER].encode, [pair.target for pair in pairs])
        targets = RaggedTable.of_ragged(tf.concat([targets, ends(len(pairs))], axis=1))
        sources = _sources(task, pairs, vocabularies)
        named = [
            named_pieces(source, target) for source, target in zip(_rows(sources), _rows(targets))
        ]
        return {SOURCE: sources, TARGET: targets, NAMED: RaggedTable.of(named)}

    def arrange_training(features, step):
        return _arrange(made_up(features, step), step)

    return PairFormat(
        encode=tables,
        lengths={SOURCE: task.source_lengths, TARGET: task.lengths, NAMED: task.lengths},
        units=("pieces", "pieces"),
        arrange=_arrange,
        arrange_training=arrange_training if task.made_up_names else None,
        batch_size=setting.fit.batch_size,
        batch_tokens=setting.fit.batch_tokens,
        replicas=setting.replicas,
        seed=setting.fit.seed,
        record="text",
    )


def _rows(table: RaggedTable) -> list[np.ndarray]:
    """The sequences of a table."""
    return np.split(table.values, table.starts[1:-1])


def _sources(task, pairs, vocabularies) -> RaggedTable:
    values, lengths = [], []
    for start in range(0, len(pairs), ROWS):
        sets = [pair.facts for pair in pairs[start : start + ROWS]]
        tokens = read_sets(task, sets, vocabularies).tokens.numpy()
        present = tokens[..., 0] > 0
        values.append(tokens[present])
        lengths.append(present.sum(axis=1))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    return RaggedTable(np.concatenate(values), starts.astype("int64"))


def _arrange(features, step):
    targets = features[TARGET]
    inputs = {SOURCE: features[SOURCE], TOKENS: teacher_forced(targets)}
    return inputs, targets, real(targets)

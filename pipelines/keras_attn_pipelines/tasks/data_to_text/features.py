"""Sets of facts with texts as named features."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from keras_attn.contracts import PAD_ID, SOURCE, TARGET, TOKENS
from keras_attn.serving.readers.facts import field_names, read_fact_sets, readable_facts
from keras_attn.text.slot_tokenizer import SlotTokenizer
from keras_attn.text.symbol_table import SymbolTable
from keras_attn.text.tokenizer import Tokenizer
from keras_attn_pipelines.data.facts import Fact, FactSet, fact_texts
from keras_attn_pipelines.data.pair_training import (
    PairFormat,
    PairSplit,
    pair_training_data,
    usable_pairs,
)
from keras_attn_pipelines.data.sequence_examples import ends, real, teacher_forced
from keras_attn_pipelines.data.tables import RaggedTable
from keras_attn_pipelines.data.vocabulary import smaller_than_asked
from keras_attn_pipelines.tasks.data_to_text.made_up_names import NAMED, MadeUpNames, named_pieces
from keras_attn_pipelines.tasks.data_to_text.name_dropout import NameDropout
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
    plain = Tokenizer.learn(spelled + texts, task.vocabulary_size, task.lowercase)
    vocabularies = {
        TOKENIZER: SlotTokenizer(plain, task.slots),
        FIELDS: SymbolTable(sorted({field.decode() for field in fields})),
    }
    if not task.slots:
        return vocabularies
    read = (read.names != "" for _, read in _parts(task, records, vocabularies))
    used = max(int(tf.reduce_max(tf.math.count_nonzero(named, axis=1))) for named in read)
    return {**vocabularies, TOKENIZER: SlotTokenizer(plain, used)}  # More would not be trained.


def _parts(task, records, vocabularies):
    """ROWS records with facts at a time, and what was read of them."""
    for start in range(0, len(records), ROWS):
        part = records[start : start + ROWS]
        yield part, read_sets(task, [record.facts for record in part], vocabularies)


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
        for part, read in _parts(task, records.splits[name], vocabularies):
            found = (reason.decode() for reason in read.reasons.numpy().tolist())
            reasons |= dict(zip((record.facts for record in part), found))
    records, refused = usable_pairs(records, lambda record: reasons.get(record.facts, ""))
    tokenizer = vocabularies[TOKENIZER]
    lines = smaller_than_asked({TOKENIZER: tokenizer.plain}, task.vocabulary_size)
    if tokenizer.slots < task.slots:
        lines.append(f"slots: {tokenizer.slots}, no set of training has more names")
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
    tokenizer, seed = vocabularies[TOKENIZER], setting.fit.seed
    lengths = {SOURCE: task.source_lengths, TARGET: task.lengths}
    changes: list[Callable] = []
    if task.made_up_names:
        lengths[NAMED] = task.lengths
        changes.append(MadeUpNames(tokenizer, task.made_up_names, seed))
    if task.slots and task.name_dropout:
        changes.append(NameDropout(tokenizer, task.name_dropout, seed))

    def tables(pairs):
        sources, targets = _encoded(task, pairs, vocabularies)
        encoded = {SOURCE: sources, TARGET: targets}
        if task.made_up_names:
            named = [
                named_pieces(source, target, tokenizer.plain.vocabulary_size)
                for source, target in zip(_rows(sources), _rows(targets))
            ]
            encoded[NAMED] = RaggedTable.of(named)
        return encoded

    def arrange_training(features, step):
        for change in changes:
            features = change(features, step)
        return _arrange(features, step)

    return PairFormat(
        encode=tables,
        lengths=lengths,
        units=("pieces", "pieces"),
        arrange=_arrange,
        arrange_training=arrange_training if changes else None,
        batch_size=setting.fit.batch_size,
        batch_tokens=setting.fit.batch_tokens,
        replicas=setting.replicas,
        seed=setting.fit.seed,
        record="text",
    )


def _rows(table: RaggedTable) -> list[np.ndarray]:
    """The sequences of a table."""
    return np.split(table.values, table.starts[1:-1])


def _encoded(task, pairs, vocabularies) -> tuple[RaggedTable, RaggedTable]:
    """Pieces of facts and of texts; names in the texts are the slots of their facts."""
    tokenizer, sources, targets = vocabularies[TOKENIZER], [], []
    for part, read in _parts(task, pairs, vocabularies):
        sources.append(tf.ragged.boolean_mask(read.tokens, read.tokens[..., 0] != PAD_ID))
        texts = tokenizer.normalize([pair.target for pair in part])
        targets.append(tokenizer.encode(tokenizer.mark(texts, read.names)))
    targets = tf.concat([tf.concat(targets, axis=0), ends(len(pairs))], axis=1)
    return RaggedTable.of_ragged(tf.concat(sources, axis=0)), RaggedTable.of_ragged(targets)


def _arrange(features, step):
    targets = features[TARGET]
    inputs = {SOURCE: features[SOURCE], TOKENS: teacher_forced(targets)}
    return inputs, targets, real(targets)

"""Training data from pairs of a source and a target."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from keras_attn.contracts import SOURCE, TARGET, TOKENS
from keras_attn.training.teacher_forcing import teacher_forcing
from keras_attn_pipelines.data.batches import Batches
from keras_attn_pipelines.data.redrawn_sequences import Draw, RedrawnSequences
from keras_attn_pipelines.data.selected import selected
from keras_attn_pipelines.data.sequence_examples import (
    SequenceExamples,
    encoded_tables,
)
from keras_attn_pipelines.data.skipped import Skipped, check_share, listing
from keras_attn_pipelines.data.tables import RaggedTable
from keras_attn_pipelines.data.training_data import Records, TrainingData


@dataclass(frozen=True)
class SequenceFormat:
    """How pairs become batches.

    Attributes:
        encode: function from pairs to a dict of `RaggedTable`s, SOURCE and TARGET among them, each
            sequence with END_ID last.
        lengths: dict of the bucket lengths of each table.
        units: plural nouns for the ids of sources and of targets, in messages; without the second,
            targets are one id each.
        arrange: see `Batches`.
        setting: `Setting`, whose `fit` has the sizes of batches and the shuffling seed.
        record: noun for a record, in messages.
        draws: function from pairs to a dict of a `Draw` for each table that is drawn anew for every
            batch in training, or None.
        room: see `SequenceExamples.of`, in training.
        arrange_training: what takes the place of `arrange` in training, or None.
    """

    encode: Callable[[Sequence[Any]], Mapping[str, RaggedTable]]
    lengths: Mapping[str, Sequence[int]]
    units: tuple[str, str]
    arrange: Callable
    setting: Any
    record: str = "pair"
    draws: Callable[[Sequence[Any]], Mapping[str, Draw]] | None = None
    room: Mapping[str, float] | None = None
    arrange_training: Callable | None = None

    def length_text(self, source: int, target: int, joined: str = "and") -> str:
        """How long a pair is, such as "7 words and 16 symbols, ends included"."""
        first, second = self.units
        if not second:
            return f"{source} {first}, end included"
        return f"{source} {first} {joined} {target} {second}, ends included"


@dataclass(frozen=True)
class BucketedSplit:
    """The pairs of a split that fit into a bucket.

    Attributes:
        pairs: sequence of pairs.
        examples: `SequenceExamples` of them.
        sizes: dict of the rows in a batch of each bucket.
        batches: `Batches` of the examples.
        long: (pair, S, T) of each pair that fits into no bucket.
    """

    pairs: Sequence[Any]
    examples: SequenceExamples
    sizes: Mapping[int, int]
    batches: Batches
    long: list[tuple[Any, int, int]]

    @classmethod
    def of(
        cls, pairs: Sequence[Any], form: SequenceFormat, trains: bool = False
    ) -> "BucketedSplit":
        """Encodes pairs and sorts them into buckets.

        Args:
            pairs: of the split.
            form: `SequenceFormat`.
            trains: whether sequences are drawn anew, if the format says so.

        Raises:
            ValueError: none of them fits.
        """
        tables = encoded_tables(form.encode, pairs)
        examples, kept = SequenceExamples.of(tables, form.lengths, form.room if trains else None)
        sources, targets = tables[SOURCE].lengths, tables[TARGET].lengths
        if not len(kept):
            longest = form.lengths[SOURCE][-1], form.lengths[TARGET][-1]
            raise ValueError(
                f"Expected a {form.record} of at most {form.length_text(*longest)}, the last of "
                f"lengths. Received: none of {len(pairs)}, such as {pairs[0].source!r:.80}"
            )
        dropped = np.setdiff1d(np.arange(len(pairs)), kept).tolist()
        long = [(pairs[place], int(sources[place]), int(targets[place])) for place in dropped]
        fit = form.setting.fit
        sizes = examples.sizes(fit.batch_size, fit.batch_tokens, form.setting.replicas)
        usable, source = selected(pairs, kept), examples
        if trains and form.draws is not None:
            source = RedrawnSequences(examples, form.draws(usable), fit.seed)
        arrange = (trains and form.arrange_training) or form.arrange
        batches = Batches(source, sizes, arrange, fit.seed)
        return cls(usable, examples, sizes, batches, long)


@dataclass(frozen=True)
class EncodedSequences:
    """What a task needs again during training: the `extra` of its data.

    Attributes:
        splits: dict of the `BucketedSplit`s of "train" and "dev".
        vocabularies: dict of vocabularies by name.
    """

    splits: Mapping[str, BucketedSplit]
    vocabularies: Mapping[str, Any]


def sequence_training_data(
    records: Records,
    form: SequenceFormat,
    vocabularies: Mapping[str, Any],
    lines: Sequence[str] = (),
    skipped: Sequence[Skipped] = (),
) -> TrainingData:
    """Training data from usable pairs.

    Args:
        records: pairs by split.
        form: `SequenceFormat`.
        vocabularies: dict of vocabularies by name.
        lines: first lines of the report.
        skipped: pairs that are not among the records.

    Returns:
        `TrainingData`; its `extra` is `EncodedSequences`.
    """
    splits = {
        name: BucketedSplit.of(records.splits[name], form, name == "train")
        for name in ("train", "dev")
    }
    skipped, lines = list(skipped), list(lines)
    longest = form.lengths[SOURCE][-1], form.lengths[TARGET][-1]
    for name, split in splits.items():
        reasons = (
            (pair, f"{form.record} of {form.length_text(source, target)}, too long for any batch")
            for pair, source, target in split.long
        )
        skipped += skipped_pairs(records.files.get(name), reasons)
        if split.long:
            limit = f"more than {form.length_text(*longest, 'or')}: left out"
            lines.append(f"{len(split.long)} {form.record}s of {name} have {limit}")
    train = splits["train"].batches
    return TrainingData(
        splits=records.splits,
        training=train.training,
        dev=splits["dev"].batches.dataset(),
        steps=train.steps,
        skipped=skipped,
        lines=lines,
        details=[_shapes(splits["train"], form)],
        extra=EncodedSequences(splits, dict(vocabularies)),
    )


def arrange_pair(features, step):
    """See `Batches`: a source, the decoder's inputs, and the targets that they predict."""
    tokens, targets, weights = teacher_forcing(features[TARGET])
    return {SOURCE: features[SOURCE], TOKENS: tokens}, targets, weights


def usable_pairs(records: Records, unusable: Callable[[Any], str]) -> tuple[Records, list[Skipped]]:
    """Separates usable and unusable records.

    Args:
        records: pairs by split.
        unusable: function from a pair to the reason it cannot be used for training, or ''.

    Returns:
        records: the usable ones.
        refused: the unusable ones.

    Raises:
        ValueError: too many unusable ones, or nothing left for training.
    """
    kept, refused = {}, []
    for name, pairs in records.splits.items():
        reasons = [unusable(pair) for pair in pairs]
        kept[name] = selected(pairs, np.flatnonzero([not reason for reason in reasons]))
        unusable_pairs = ((pairs[place], why) for place, why in enumerate(reasons) if why)
        refused += skipped_pairs(records.files.get(name), unusable_pairs)
    for name in ("train", "dev"):
        if not kept[name]:
            raise ValueError(
                f"Expected at least one usable pair in the split {name!r}. "
                f"Received: none{listing(refused)}"
            )
    check_share(refused, sum(map(len, records.splits.values())), records.tolerance)
    return replace(records, splits=kept), refused


def skipped_pairs(file: Path | None, reasons: Iterable[tuple[Any, str]]) -> list[Skipped]:
    """Left-out pairs as `Skipped`."""
    return [
        Skipped(file or Path("-"), pair.line, f"{reason}: {pair.source!r:.80}")
        for pair, reason in reasons
    ]


def _shapes(split: BucketedSplit, form: SequenceFormat) -> str:
    """Reports the batch shapes and the share of padding."""
    lengths = zip(form.lengths[SOURCE], form.lengths[TARGET])
    shapes = ", ".join(
        f"{size}×({source}, {target})" if form.units[1] else f"{size}×{source}"
        for size, (source, target) in zip(split.sizes.values(), lengths)
    )
    share = split.examples.padding(split.sizes, (SOURCE, TARGET))
    return f"batches: {shapes}; {share:.1%} padding, {split.batches.steps} steps an epoch"

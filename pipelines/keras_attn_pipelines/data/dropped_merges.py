"""BPE dropout in the batches of training."""

from collections.abc import Callable, Mapping
from typing import Any

from keras_attn.text.bpe_dropout import BPEDropout
from keras_attn.text.tokenizer import Tokenizer

GROWTH = 5.0
"""Buckets have room for texts 1 + 5p times as long, which become 1 + 4p on average."""


def dropped_merges(
    dropout: float, sides: Mapping[str, tuple[Tokenizer, Callable[[Any], str]]]
) -> dict[str, Any]:
    """The fields of `SequenceFormat` that draw texts anew, with merges skipped at random.

    Args:
        dropout: probability that a merge is skipped; 0 for none.
        sides: dict of the tokenizer and a function from records to texts, for each table.
    """
    if not dropout:
        return {}

    def draws(records):
        return {
            name: BPEDropout(tokenizer, [text_of(record) for record in records], dropout)
            for name, (tokenizer, text_of) in sides.items()
        }

    return {"draws": draws, "room": dict.fromkeys(sides, 1 + GROWTH * dropout)}

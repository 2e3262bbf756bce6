"""Which values the choices of recipes may have."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

LOSS, TOKEN_ACCURACY = "loss", "token_accuracy"

AT_LEAST_ONE = (
    "image_size",
    "batch_size",
    "captions_per_picture",
    "embedding_dim",
    "intermediate_dim",
    "attention_dim",
    "batch_tokens",
    "patch_size",
    "num_layers",
    "num_vision_layers",
    "hidden_dim",
    "num_heads",
    "epochs",
    "beam_width",
    "patience",
    "average",
    "word_pieces",
    "longest_chain",
    "deepest",
    "scored",
    "filters",
)
AT_LEAST_ZERO = (
    "no_repeat_ngram",
    "self_critical",
    "num_encoder_layers",
    "feature_dim",
    "attention_penalty",
    "warmup_steps",
    "seed",
    "dev_share",
    "test_share",
    "tolerance",
    "fine_tune_from",
)
MOST_PIXELS_A_SIDE = 4096
MOST_SEED, MOST_PIECES = 2**32 - 1, 2**24
BELOW_ONE = ("dropout", "attention_dropout", "label_smoothing")
ABOVE_ZERO = ("learning_rate", "encoder_rate", "transformer_rate", "clip_norm")


def monitors_of(metrics: Iterable[str], accuracy: str = TOKEN_ACCURACY) -> tuple[str, ...]:
    """What may pick the best epoch: losses, accuracies, and metrics of free-running answers."""
    fitted = (LOSS, accuracy)
    return (*fitted, *(f"val_{name}" for name in (*fitted, *metrics)))


def check_choices(values: Mapping[str, Any], chosen: Mapping[str, Sequence[str]]) -> None:
    """Raises ValueError that names the first choice out of its range; NaN is out of every range.

    Args:
        values: choices by name, those of any recipe.
        chosen: known values of choices that are names.
    """
    for name in AT_LEAST_ONE:
        _check(values, name, ">= 1", lambda value: value >= 1)
    for name in AT_LEAST_ZERO:
        _check(values, name, ">= 0", lambda value: value >= 0)
    for name in BELOW_ONE:
        _check(values, name, ">= 0 and < 1", lambda value: 0 <= value < 1)
    for name in ABOVE_ZERO:
        _check(values, name, "> 0 and finite", lambda value: 0 < value < math.inf)
    _check(
        values, "image_size", f"<= {MOST_PIXELS_A_SIDE}", lambda value: value <= MOST_PIXELS_A_SIDE
    )
    _check(
        values, "read_size", f"2 to {MOST_PIXELS_A_SIDE}", lambda n: 2 <= n <= MOST_PIXELS_A_SIDE
    )
    _check(values, "bound", "1e-6 to 1e6", lambda bound: bound is None or 1e-6 <= bound <= 1e6)
    _check(values, "seed", f"<= {MOST_SEED}", lambda value: value <= MOST_SEED)
    _check(values, "vocabulary_size", f"<= {MOST_PIECES}", lambda value: value <= MOST_PIECES)
    _check(values, "length_alpha", "-100 to 100", lambda value: -100 <= value <= 100)
    _check(values, "own_words", "0 to 1", lambda value: 0 <= value <= 1)
    _check(values, "crop", "> 0 and <= 1", lambda value: 0 < value <= 1)
    _check(values, "lengths", "increasing and >= 1", increasing)
    for name, known in chosen.items():
        _check(values, name, f"one of {', '.join(known)}", lambda value, own=known: value in own)
    if values["dev_share"] + values["test_share"] >= 1:
        raise ValueError(
            "Expected dev_share + test_share < 1. Received: "
            f"dev_share={values['dev_share']}, test_share={values['test_share']}"
        )


def check_heads(hidden_dim: int, num_heads: int) -> None:
    """Raises ValueError unless the width of a Transformer is shared out among its heads."""
    if hidden_dim % num_heads:
        raise ValueError(
            "Expected hidden_dim that num_heads divides. "
            f"Received: hidden_dim={hidden_dim}, num_heads={num_heads}"
        )


def _check(values, name, expected, holds):
    if name in values and not holds(values[name]):
        raise ValueError(f"Expected {name} {expected}. Received: {name}={values[name]!r}")


def increasing(lengths) -> bool:
    """Whether bucket lengths are increasing and at least 1, and there are some."""
    return bool(lengths) and lengths[0] >= 1 and list(lengths) == sorted(set(lengths))

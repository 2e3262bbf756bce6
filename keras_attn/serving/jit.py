"""Searches that XLA compiles, for requests that come alone."""

from collections.abc import Callable, Mapping
from typing import Any

from keras_attn.contracts import SOURCE, DecodeResult
from keras_attn.lazy_tensorflow import tf

BUCKET = 16
"""Sources are padded to multiples of so many pieces: XLA compiles for each length."""


def compile_searches(service: Any) -> None:
    """Lets XLA compile the searches of a service, which is to be exported, for single requests.

    One request is answered, so that what XLA cannot compile is known before the export.

    Args:
        service: `GenerationService` of pictures, or from one text to another.

    Raises:
        ValueError: another service, or a model that XLA cannot compile.
    """
    if not hasattr(service, "jit"):
        raise ValueError(
            f"Expected a model that decodes answers for jit=True. Received: {service.model.name}"
        )
    service.jit = True
    request = service.requests(1)["serving_default"]
    try:
        tf.function(service.answer, autograph=False)(*map(tf.constant, request.values()))
    except ValueError:
        service.jit = False
        raise
    except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError) as error:
        service.jit = False
        reason = error.message.splitlines()[0]
        raise ValueError(
            f"Expected a model that XLA can compile for jit=True. Received: {reason}"
        ) from error


def check_compilable(context: Mapping[str, Any]) -> None:
    """Raises ValueError unless a request's shapes are known, but for the pieces of a text."""
    if unknown := [
        key
        for key, value in context.items()
        if any(None in part.shape[1:] for part in tf.nest.flatten(value))
        and not _is_text(key, value)
    ]:
        raise ValueError(
            "Expected a model of pictures or of one text for jit=True, whose requests have few "
            f"shapes. Received: {', '.join(unknown)} of any length"
        )


def _is_text(key, value):
    """Whether a part of a context is a text, int32 (B, S)."""
    return key == SOURCE and not isinstance(value, tuple) and len(value.shape) == 2


def alone_by_xla(
    search: Callable[[Mapping[str, Any], Any], DecodeResult],
    context: Mapping[str, Any],
    steps: Any,
    most_of: Callable[[Any], Any],
    prefixed: int = 0,
) -> DecodeResult:
    """A search, compiled by XLA if there is one request; of more, a graph is as fast.

    Args:
        search: function of a context and the maximum of its tokens.
        context: dict of tensors (B, ...), see `check_compilable`.
        steps: int or int32 scalar. Maximum tokens of these requests.
        most_of: function of the number of a source's pieces, int32 (B,), to the maximum tokens of
            answers to such sources.
        prefixed: tokens that answers have before those that are searched.
    """
    rows = tf.shape(tf.nest.flatten(context)[0])[0]
    names: list[str] = []

    @tf.function(jit_compile=True, autograph=False)
    def compiled(padded):
        longest = steps
        if SOURCE in padded:
            longest = most_of(tf.shape(padded[SOURCE])[1])
        return search(padded, longest)

    def alone():
        padded = {key: _padded(value) if key == SOURCE else value for key, value in context.items()}
        return present(_cut(compiled(padded), context, prefixed + steps))

    def present(result):
        kept = {key: value for key, value in result._asdict().items() if value is not None}
        names[:] = kept
        return tuple(kept.values())

    values = tf.cond(rows == 1, alone, lambda: present(search(context, steps)))
    return DecodeResult(**dict.fromkeys(DecodeResult._fields) | dict(zip(names, values)))


def _padded(tokens):
    """int32 (B, S) with PAD_ID, 0, up to a multiple of BUCKET."""
    return tf.pad(tokens, [[0, 0], [0, -tf.shape(tokens)[1] % BUCKET]])


def _cut(result, context, length):
    """A result of so many tokens, without what was padded."""
    weights = result.weights
    if weights is not None:
        weights = weights[:, :, :length]
        if SOURCE in context:
            weights = weights[..., : tf.shape(context[SOURCE])[1]]
    tokens, scores = result.tokens[..., :length], result.token_scores[..., :length]
    return result._replace(tokens=tokens, token_scores=scores, weights=weights)

"""Attention weights of keras-hub's models that generate text."""

import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
from keras import ops


class HubAttention(NamedTuple):
    """Weights of N layers and H heads of T tokens, by the layer's own softmax.

    Row t says what the model attended to as it read token t, to predict token t + 1.

    Attributes:
        decoder: float32 (B, N, H, T, T), of tokens on those before them; of a model that reads
            pictures, (B, N, H, P + T, P + T) with the picture's P places before the tokens.
        cross: float32 (B, N, H, T, S), of tokens on the S of the encoder; None without one.
    """

    decoder: Any
    cross: Any


def hub_attention(task, inputs) -> HubAttention:
    """What every layer and head of a keras-hub model attends to, in one pass without a cache.

    Methods of the layers are replaced while it runs: no other thread may call the task meanwhile.

    Args:
        task: keras-hub `CausalLM`, `Seq2SeqLM` or `PaliGemmaCausalLM`, or others whose backbone
            has lists of layers with an attention each.
        inputs: dict of tensors that the task takes, as of its preprocessor.

    Returns:
        `HubAttention`; rows of padding are of no use.

    Raises:
        ValueError: a task of another form, or a fused attention, which has no weights.

    Example:
        >>> inputs = task.preprocessor.generate_preprocess(["The quick"])  # doctest: +SKIP
        >>> hub_attention(task, inputs).decoder.shape  # doctest: +SKIP
        (1, 12, 12, 1024, 1024)
    """
    layers = attention_layers(task)
    with _recorded([*layers["self"], *layers["cross"]]) as found:
        read = {name: ops.convert_to_tensor(inputs[name]) for name in task.backbone.input}
        task.backbone(read, training=False)
    for layer, weights in zip([*layers["self"], *layers["cross"]], found):
        if len(weights) != 1:
            raise ValueError(
                f"Expected attention layers of {type(task).__name__} to compute their weights. "
                f"Received: {type(layer).__name__} {layer.name!r}, whose attention is fused on "
                f"{keras.backend.backend()}"
            )
    count = len(layers["self"])
    decoder, cross = ([_by_head(*each) for each in part] for part in (found[:count], found[count:]))
    return HubAttention(ops.stack(decoder, axis=1), ops.stack(cross, axis=1) if cross else None)


def attention_layers(task) -> dict[str, list[Any]]:
    """The layers of self- and of cross-attention of what generates, in order."""
    backbone = task.backbone
    kinds: dict[str, list[Any]] = {"self": [], "cross": []}
    has_encoder = hasattr(backbone, "decoder_transformer_layers")
    name = "decoder_transformer_layers" if has_encoder else "transformer_layers"
    blocks = getattr(backbone, name, ())
    for block in blocks:
        for layer in block._flatten_layers():
            if _normalizing(layer) is not None:
                kinds["cross" if "cross" in layer.name else "self"].append(layer)
    expected = {"self": len(blocks), "cross": len(blocks) if has_encoder else 0}
    received = {kind: len(layers) for kind, layers in kinds.items()}
    if not blocks or received != expected:
        raise ValueError(
            "Expected a task of keras-hub whose decoder's layers have an attention to the text "
            "each, and one to the encoder if there is one. "
            f"Received: {type(task).__name__}, {len(blocks)} layers with {received}"
        )
    return kinds


def _normalizing(layer):
    """The part of an attention layer that returns its weights: the softmax, or the dropout after
    it; None of another layer."""
    if type(layer).__name__ == "T5MultiHeadAttention":
        return layer.dropout_layer
    parts = (getattr(layer, name, None) for name in ("_softmax", "softmax"))
    return next((part for part in parts if isinstance(part, keras.layers.Softmax)), None)


@contextlib.contextmanager
def _recorded(layers: Sequence[Any]):
    """Context in which the weights of each layer are put into a list of its own at each call."""
    found: list[list[Any]] = [[] for _ in layers]
    with contextlib.ExitStack() as changes:
        for layer, weights in zip(layers, found):
            changes.enter_context(_recorded_layer(layer, weights))
        yield found


@contextlib.contextmanager
def _recorded_layer(layer, weights):
    """Context in which one layer's weights are put into a list."""
    is_keras = isinstance(layer, keras.layers.MultiHeadAttention)
    part, name = (layer, "_compute_attention") if is_keras else (_normalizing(layer), "call")
    method, asked = getattr(part, name), {"return_attention_scores": True} if is_keras else {}

    def recording(*args, **kwargs):
        result = method(*args, **{**kwargs, **asked})
        weights.append(result[1] if is_keras else result)
        return result

    setattr(part, name, recording)
    try:
        yield
    finally:
        delattr(part, name)


def _by_head(weights):
    """Weights float32 (B, H, T, S), of those of grouped heads (B, K, G, T, S), too."""
    weights = ops.cast(weights, "float32")
    if len(weights.shape) == 4:
        return weights
    batch, groups, heads, *places = ops.shape(weights)
    return ops.reshape(weights, (batch, groups * heads, *places))

"""Masks that travel, on either backend: each function asserts; all of them run as a module.

Run as `python -m tests.conformance.masks FOLDER`, under any Keras backend.
"""

import itertools
import sys
from pathlib import Path

import keras
import numpy as np
from keras import ops
from keras.src import backend

from keras_attn.layers import (
    AdditiveAttention,
    DotAttention,
    MultiHeadAttention,
    TransformerEncoderBlock,
)
from tests.conformance.registry import CASES, SEQUENCES
from tests.slopes import slopes

TOKENS = np.array([[3, 2, 5, 0, 0], [1, 4, 2, 6, 0]], "int32")
MEMORY = np.array([[1, 6, 0, 0, 0, 0, 0], [2, 2, 5, 1, 3, 0, 0]], "int32")
MEMORIES = {name: case for name, case in CASES.items() if case.memory}


def longer(tokens):
    """Four more tokens of padding."""
    return np.pad(tokens, [(0, 0), (0, 4)])


def embedding(width):
    """A masked embedding whose padding is loud."""
    layer = keras.layers.Embedding(7, width, mask_zero=True)
    layer.build()
    table = np.random.default_rng(3).normal(size=(7, width))
    table[0] = 100.0
    layer.embeddings.assign(table)
    return layer


@keras.saving.register_keras_serializable(package="tests")
class Stack(keras.Model):
    """Two layers over an embedding, and their mean, in a model of one's own."""

    def __init__(self, layers, **kwargs):
        super().__init__(**kwargs)
        self.embedding, self.stacked = embedding(5), layers
        self.pooling = keras.layers.GlobalAveragePooling1D()

    def call(self, tokens):
        hidden = self.embedding(tokens)
        for layer in self.stacked:
            hidden = layer(hidden)
        return self.pooling(hidden)


def sequential(case):
    layers = [embedding(5), case.make(), case.make(), keras.layers.GlobalAveragePooling1D()]
    return keras.Sequential(layers)


def functional(case):
    """Two stacked layers, of which the first is shared by two branches, and an LSTM behind them."""
    tokens, first = keras.Input((None,), dtype="int32"), case.make()
    left, right = (first(embedding(5)(tokens)) for _ in range(2))
    hidden = case.make()(keras.layers.Add()([left, right]), **dict(case.arguments))
    pooled = keras.layers.GlobalAveragePooling1D()(hidden)
    return keras.Model(tokens, [pooled, keras.layers.LSTM(3)(hidden)])


def subclassed(case):
    return Stack([case.make(), case.make()])


def numpy(outputs):
    """A structure of tensors as a list of float32 arrays."""
    flat = keras.tree.flatten(outputs)
    return [np.array(ops.convert_to_numpy(ops.cast(output, "float32"))) for output in flat]


def check_same(model, tokens, tolerance):
    """More padding changes nothing, and what stands in it is not seen."""
    several = isinstance(tokens, list)
    padded = [longer(token) for token in tokens] if several else longer(tokens)
    for output, padded_output in zip(numpy(model(tokens)), numpy(model(padded)), strict=True):
        np.testing.assert_allclose(output, padded_output, rtol=tolerance, atol=tolerance)
        assert np.abs(output).max() < 50, "the padding's 100 is in what came out"


MAKES = functional, sequential, subclassed
"""Ways to write a model; the first shares a layer and has an LSTM behind it."""


def check_sequences(folder, policy, makes, names):
    """Padding is not attended to in any way to write a model, nor after it was saved."""
    keras.config.set_dtype_policy(policy)
    tolerance = 1e-5 if policy == "float32" else 0.1
    for name in names:
        for make in makes:
            model = make(SEQUENCES[name])
            check_same(model, TOKENS, tolerance)
            if make is subclassed or policy != "float32":
                continue
            path = Path(folder) / f"{name}-{make.__name__}.keras"
            model.save(path)
            again = keras.saving.load_model(path)
            check_same(again, TOKENS, tolerance)
            for output, wanted in zip(numpy(again(TOKENS)), numpy(model(TOKENS)), strict=True):
                np.testing.assert_allclose(output, wanted, atol=1e-6)
    keras.config.set_dtype_policy("float32")


def check_memories():
    """Neither queries nor what they attend to see padding; the output has the query's mask."""
    for name, case in MEMORIES.items():
        widths = [shape[-1] for shape in case.inputs]
        inputs = [keras.Input((None,), dtype="int32") for _ in range(2)]
        query = embedding(widths[0])(inputs[0])
        memory = [embedding(width)(inputs[1]) for width in widths[1:]]
        hidden = case.make()(query, *memory)
        model = keras.Model(inputs, keras.layers.GlobalAveragePooling1D()(hidden))
        check_same(model, [TOKENS, MEMORY], 1e-5)
        assert backend.get_keras_mask(hidden) is not None, name


def check_mask_out():
    """What comes out carries the automatic mask and those by hand."""
    given = np.array([[1, 0, 1, 1, 1], [1, 1, 1, 0, 1]], bool)
    pairs = np.tri(5, dtype=bool)
    for name, case in SEQUENCES.items():
        layer, inputs = case.make(), embedding(5)(TOKENS)
        outputs = layer(inputs, **case.options())
        mask = backend.get_keras_mask(keras.tree.flatten(outputs)[0])
        np.testing.assert_array_equal(mask, TOKENS != 0, err_msg=name)
        if not case.attends:
            continue
        for extra in ({}, {"attention_mask": pairs} if name != "restricted_self" else {}):
            outputs, weights = layer(inputs, mask=given, **extra, **case.options())
            mask = backend.get_keras_mask(outputs)
            np.testing.assert_array_equal(mask, (TOKENS != 0) & given, err_msg=name)
            for weight in keras.tree.flatten(weights):
                weight = np.array(ops.convert_to_numpy(weight))
                if name == "restricted_self":
                    assert not weight[0, :, 0, 2].any() and not weight[0, :, 2, 0].any()
                    continue
                seen = np.any(weight, axis=tuple(range(1, weight.ndim - 1)))
                assert not np.any(seen & ~((TOKENS != 0) & given)), name
                if extra:
                    assert not np.any(weight[..., ~pairs]), name


def masks_of(kind):
    """Combinations of masks of a kind of call: query's, value's, pairs', causal.

    On TensorFlow every one; on others none, each alone and all, since operations run one by one are
    slow on JAX, and one backend is enough to try all.
    """
    random = np.random.default_rng(5)
    pairs = random.random((2, 5, 5 if kind == "self" else 7)) < 0.7
    query, value = TOKENS != 0, (TOKENS if kind == "self" else MEMORY) != 0
    for parts in itertools.product((False, True), repeat=4):
        has_query, has_value, has_pairs, causal = parts
        if kind == "self" and has_query != has_value:
            continue
        chosen = parts[1:] if kind == "self" else parts  # There the first two are one mask.
        if keras.backend.backend() != "tensorflow" and 1 < sum(chosen) < len(chosen):
            continue
        yield (
            query if has_query else None,
            value if has_value else None,
            pairs if has_pairs else None,
            causal,
        )


def check_drop_in(policy="float32"):
    """Weights of Keras' layer give its outputs, scores and gradients at real positions."""
    tolerance = 5e-5 if policy == "float32" else 0.05
    random = np.random.default_rng(7)
    shapes = ((2, 5, 5), (2, 7, 3), (2, 7, 11))
    query, value, key = (random.normal(size=shape).astype("float32") for shape in shapes)
    for kind in ("self", "cross", "key"):
        inputs = {"self": (query, query), "cross": (query, value), "key": (query, value, key)}[kind]
        theirs = keras.layers.MultiHeadAttention(2, 3, 5, output_shape=7, dtype=policy)
        ours = MultiHeadAttention(2, 3, 5, output_shape=7, dtype=policy)
        for layer in (theirs, ours):
            layer.build(*(input.shape for input in inputs))
        theirs.set_weights([random.normal(size=weight.shape) for weight in theirs.weights])
        ours.set_weights(theirs.get_weights())
        for masks in masks_of(kind):
            expected = measured(theirs, inputs, masks, kind)
            if kind == "self":
                check_close(measured(ours, inputs[:1], masks, kind), expected, tolerance)
            check_close(measured(ours, inputs, masks, kind), expected, tolerance)


def check_close(arrays, expected, tolerance):
    """Equal arrays, relative to the largest number of all of them."""
    scale = max(1.0, *(np.abs(array).max() for array in expected))
    for array, wanted in zip(arrays, expected, strict=True):
        np.testing.assert_allclose(array, wanted, rtol=tolerance, atol=tolerance * scale)


def measured(layer, inputs, masks, kind):
    """Outputs and scores at real queries that see a key, and gradients of a loss of these."""
    query_mask, value_mask, pairs, causal = masks
    sees = np.ones((2, 5, 5 if kind == "self" else 7), bool)
    for mask in (
        None if query_mask is None else query_mask[:, :, None],
        None if value_mask is None else value_mask[:, None, :],
        pairs,
        np.tri(*sees.shape[1:], dtype=bool) if causal else None,
    ):
        sees = sees if mask is None else sees & mask
    real = sees.any(-1)

    def call():
        tensors = [ops.convert_to_tensor(input) for input in inputs]
        if kind == "self" and len(tensors) == 2:
            tensors[1] = tensors[0]
        for tensor, mask in zip(tensors, (query_mask, value_mask, value_mask)):
            backend.set_keras_mask(tensor, None if mask is None else ops.convert_to_tensor(mask))
        options = {"return_attention_scores": True, "use_causal_mask": causal}
        if pairs is not None:
            options["attention_mask"] = ops.convert_to_tensor(pairs)
        names = dict(zip(("value", "key"), tensors[1:]))
        return layer(tensors[0], **names, **options)

    outputs, scores = call()
    weight = ops.convert_to_tensor(real[..., None].astype("float32"))

    def loss_of(outputs):
        return ops.sum(ops.sin(ops.cast(outputs, "float32")) * weight)

    gradients = gradients_of(layer, call, loss_of)
    outputs, scores = numpy(outputs)[0][real], np.moveaxis(numpy(scores)[0], 1, 2)[real]
    return [outputs, scores, *gradients]


def gradients_of(layer, call, loss_of):
    """NumPy gradients of all weights."""
    variables = layer.trainable_variables

    def loss(*values):  # `stateless_call` would leave out masks that Keras fills in.
        with keras.StatelessScope(state_mapping=list(zip(variables, values))):
            return loss_of(call()[0]), []

    _, _, gradients = slopes(loss, len(variables))([variable.value for variable in variables])
    return gradients


def check_keras_stack():
    """Two encoder blocks equal the same stack of Keras' layers.

    Keras' attention takes the mask off its query, so that Add loses it: there it goes in by hand.
    """
    tokens = keras.Input((None,), dtype="int32")
    hidden, mask = embedding(6)(tokens), ops.not_equal(tokens, 0)
    ours, parts = [], []
    for _ in range(2):
        ours.append(TransformerEncoderBlock(2, 3, 3, 13, use_bias=True, dropout=0.0))
        attention = keras.layers.MultiHeadAttention(2, 3)
        norms = [keras.layers.LayerNormalization(epsilon=1e-6) for _ in range(2)]
        net = [keras.layers.Dense(13, "relu"), keras.layers.Dense(6)]
        attended = attention(hidden, hidden, attention_mask=mask[:, None, :])
        hidden = norms[0](keras.layers.Add()([hidden, attended]))
        hidden = norms[1](keras.layers.Add()([hidden, net[1](net[0](hidden))]))
        parts.append((attention, norms, net))
    theirs = keras.Model(tokens, keras.layers.GlobalAveragePooling1D()(hidden, mask=mask))
    model = keras.Sequential([embedding(6), *ours, keras.layers.GlobalAveragePooling1D()])
    model(TOKENS)
    random = np.random.default_rng(11)
    for weight in theirs.trainable_weights[1:]:
        weight.assign(random.normal(size=weight.shape))
    for block, (attention, norms, net) in zip(ours, parts):
        block.attention.set_weights(attention.get_weights())
        feed = block.feed_forward
        pairs = ((feed.hidden_kernel, feed.hidden_bias), (feed.output_kernel, feed.output_bias))
        for own, dense in zip(pairs, net):
            for variable, value in zip(own, dense.get_weights()):
                variable.assign(value)
        for residual, norm in zip(block.residuals, norms):
            residual.normalization.set_weights(norm.get_weights())
    for given in (TOKENS, longer(TOKENS)):
        np.testing.assert_allclose(numpy(model(given))[0], numpy(theirs(given))[0], atol=1e-5)


def check_keras_scores():
    """Dot and additive attention equal Keras' layers of these names."""
    random = np.random.default_rng(13)
    query, value, key = (random.normal(size=(2, n, 3)).astype("float32") for n in (5, 7, 7))
    mask = MEMORY != 0
    additive, theirs = AdditiveAttention(3), keras.layers.AdditiveAttention()
    additive.build(query.shape, value.shape, key.shape)
    theirs.build([query.shape, value.shape, key.shape])
    scale = random.normal(size=3).astype("float32")
    theirs.set_weights([scale])
    additive.set_weights([np.eye(3), np.eye(3), scale[:, None]])
    options = {"return_attention_scores": True}
    for ours, other in ((DotAttention(), keras.layers.Attention()), (additive, theirs)):
        for causal in (False, True):
            expected = other(
                [query, value, key], mask=[None, mask], use_causal_mask=causal, **options
            )
            outputs = ours(query, value, key, value_mask=mask, use_causal_mask=causal, **options)
            check_close(numpy(outputs), numpy(expected), 1e-5)


def main(folder):
    quick = ("additive_self", "multi_head_self", "restricted_self", "encoder_block")
    check_sequences(folder, "float32", MAKES[:1], quick)
    check_drop_in()
    check_memories()
    check_mask_out()
    check_keras_stack()
    check_keras_scores()


if __name__ == "__main__":
    main(sys.argv[1])

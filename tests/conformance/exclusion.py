"""Excluded means excluded: what stands at masked places reaches neither outputs nor gradients.

Each function asserts, on either backend; all of them run as a module,
`python -m tests.conformance.exclusion`.
"""

import inspect
from functools import partial

import keras
import numpy as np
from keras import ops
from keras.src import backend

from keras_attn import layers, models
from keras_attn.layers import (
    AdditiveAttention,
    AttentionCell,
    LocationSampler,
    MultiHeadAttention,
    MultiplicativeAttention,
)
from keras_attn.models.recurrent.recurrent_config import RecurrentConfig
from keras_attn.models.recurrent.recurrent_decoder import RecurrentDecoder
from keras_attn.ops import symmetric_divergence
from keras_attn.ops.replicas import global_mean
from keras_attn.training.bit_losses import BitCrossEntropy, BitsPerSequence, ExactSequences
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.token_accuracy import TokenAccuracy
from tests.conformance.registry import CASES, Case
from tests.processes import compiled
from tests.slopes import slopes

PARTS = {
    "mask": ("inputs", "query"),
    "query_mask": ("query", "embedded", "logits"),
    "value_mask": ("value", "key"),
}
"""Arguments of a call whose places a mask excludes."""
ZEROS = np.zeros(17, "float32")
NO_NUMBERS = np.resize(np.array([np.inf, np.nan, -np.inf], "float32"), 17)
RECURRENT = RecurrentConfig(13, hidden_dim=3, embedding_dim=5)
DECODER = Case(
    lambda **k: RecurrentDecoder(RECURRENT, MultiplicativeAttention(), **k),
    ((2, 3), (2, 11, 6), (2, 6)),
    integers=((0, 13),),
    scores=True,
)


ROWS = {**CASES, "recurrent_decoder": DECODER}
CROSS = ("multi_head", "additive_key", "multi_step_key")
QUICK = (*{CASES[name].make().__class__: name for name in CASES}.values(), *CROSS)
"""A case of each layer, and some with a memory beside the queries."""


def mask_like(array):
    """A mask of an array's places, in whose rows different ones are excluded."""
    mask = np.ones(array.shape[:2], bool)
    mask[0, 1] = mask[1, 0] = mask[1, -1] = False
    return mask


def masked_call(case):
    """A layer, arrays of a call, masks by argument, and for each array the mask of its places."""
    layer, arrays = case.make(), case.arrays()
    if len(arrays) == 1:
        arrays = [arrays[0][:, :4]]  # Enough, and recurrences are slow.
    names, masks, places = list(inspect.signature(layer.call).parameters), {}, [None] * len(arrays)
    for argument, parts in PARTS.items():
        for place, (name, array) in enumerate(zip(names, arrays)):
            if argument in names and name in parts and place not in dict(case.integers):
                places[place] = masks[argument] = mask_like(array)
    return layer, arrays, masks, places


def filled(arrays, places, contents):
    """The arrays, with these contents at masked places."""
    return [
        array if mask is None else np.where(mask[..., None], array, contents[: array.shape[-1]])
        for array, mask in zip(arrays, places)
    ]


def both(arrays, places):
    """The arrays with zeros, and with inf and NaN, at masked places."""
    return [filled(arrays, places, contents) for contents in (ZEROS, NO_NUMBERS)]


def build(layer, arrays, options):
    """Builds a layer symbolically: on JAX, operations run one by one are slow."""
    layer(*(keras.KerasTensor(array.shape, array.dtype.name) for array in arrays), **options)


def check_rows():
    """Every public layer whose call takes a mask of places is in `ROWS`."""
    kinds = {type(case.make()) for case in ROWS.values()}
    public = [getattr(package, name) for package in (layers, models) for name in package.__all__]
    for kind in filter(inspect.isclass, public):
        abstract = kind.__doc__.startswith("Abstract")
        if issubclass(kind, keras.layers.Layer) and kind not in kinds and not abstract:
            assert {"mask", *PARTS}.isdisjoint(inspect.signature(kind.call).parameters), kind


def check_layers(names=tuple(CASES)):
    """Of every layer that takes a mask, outputs and gradients are as with zeros in its places."""
    for name in (*names, "recurrent_decoder"):
        case = ROWS[name]
        layer, arrays, masks, places = masked_call(case)
        if not masks:
            continue
        options = {**case.options(), **masks}
        build(layer, arrays, options)
        expected, poisoned = results(layer, *both(arrays, places), options)
        check_equal(poisoned, expected, name)
        for place, gradient in poisoned[1].items():
            assert places[place] is None or not np.any(gradient[~places[place]]), name


def check_pairs(names=tuple(CASES)):
    """A mask of pairs excludes a key to which no query may attend."""
    for name in names:
        case = CASES[name]
        layer, arrays, _, places = masked_call(case)
        takes_pairs = "attention_mask" in inspect.signature(layer.call).parameters
        if not takes_pairs or name.endswith("decoder_block"):  # Its mask is of queries.
            continue
        itself = len(arrays) == 1
        mask = places[0] if itself else places[1]
        some = np.random.default_rng(3).random((*arrays[0].shape[:2], mask.shape[1])) < 0.7
        options = {**case.options(), "attention_mask": some & mask[:, None]}
        build(layer, arrays, options)
        if not itself:
            places = [mask if place in (1, 2) else None for place in range(len(arrays))]
        expected, poisoned = results(layer, *both(arrays, places), options)
        if itself:  # Their queries are not excluded.
            expected, poisoned = (outputs[0][mask] for outputs, *_ in (expected, poisoned))
        check_equal(poisoned, expected, name)


def first_logits(decoder, context):
    """Logits of a decoder's first step."""
    return decoder.step(ops.array([3, 5]), *decoder.start(context, 2)).logits


def check_memories():
    """Of memories that are read step by step: by decoders, a cell of Keras' RNN, and heads."""
    contexts = {
        "transformer_decoder": lambda arrays, mask: (arrays[1], mask),
        "conv_decoder": lambda arrays, mask: (*arrays[1:], mask),
        "planning_decoder": lambda arrays, mask: (*arrays[1:], mask),
        "recurrent_decoder": lambda arrays, mask: (arrays[1], mask, arrays[2]),
    }
    for name, context in contexts.items():
        layer, arrays, masks, places = masked_call(ROWS[name])
        build(layer, arrays, {})
        step = compiled(partial(first_logits, layer))
        steps = []
        for filled_arrays in both(arrays, places):
            given = context(filled_arrays, masks["value_mask"])
            steps.append(step(keras.tree.map_structure(ops.convert_to_tensor, given)))
        check_equal(*map(ops.convert_to_numpy, steps), name)

    random = np.random.default_rng(5)
    value, inputs = (random.normal(size=(2, n, 5)).astype("float32") for n in (11, 3))
    mask = mask_like(value)
    cell, heads = AttentionCell(keras.layers.LSTMCell(7), AdditiveAttention(3)), None
    rnn, heads = keras.layers.RNN(cell, return_sequences=True), MultiHeadAttention(2, 3)
    heads(inputs, value)
    read = []
    for contents in (ZEROS, NO_NUMBERS):
        (memory,) = map(ops.convert_to_tensor, filled([value], [mask], contents))
        outputs = rnn(inputs, initial_state=cell.initial_state(memory, value_mask=mask))
        attended, _ = heads.attend(inputs, heads.project(memory), ops.convert_to_tensor(mask))
        read.append([ops.convert_to_numpy(array) for array in (outputs, attended)])
    check_equal(*read, "cell")


def check_losses():
    """Steps of weight 0, or that the mask of the logits excludes, do not count."""
    random = np.random.default_rng(7)
    logits, targets = random.normal(size=(2, 5, 7)), random.integers(1, 7, (2, 5))
    mask, bits = mask_like(logits), random.integers(0, 2, (2, 5, 7)).astype("float32")
    logits, weights = logits.astype("float32"), mask.astype("float32")
    share = np.full((2, 5, 3), 1 / 3, "float32")

    def carrying(logits):
        backend.set_keras_mask(logits, ops.convert_to_tensor(mask))
        return logits

    def sampled(logits):
        sampler = LocationSampler()
        sampler.build()
        return sampler.loss(targets * mask, logits, share, targets % 3)

    token_loss = TokenCrossEntropy(0.1)
    losses = {
        "weights": lambda logits: token_loss(targets, logits, weights),
        "mask": lambda logits: token_loss(targets, carrying(logits + 0.0)),
        "bits": lambda logits: BitCrossEntropy()(bits, logits, weights),
        "divergence": lambda logits: global_mean(
            symmetric_divergence(logits, ops.flip(logits, (1, 2))), weights * weights[:, ::-1]
        ),
        "sampler": sampled,
        "cost": lambda logits: BitsPerSequence()(bits, logits, weights),
        "exact": lambda logits: ExactSequences()(bits, logits, weights),
        "accuracy": lambda logits: TokenAccuracy()(targets, logits, weights),
    }
    for name, loss in losses.items():
        expected, poisoned = map(slopes(alone(loss), 1), both([logits], [mask]))
        check_equal(poisoned, expected, name)


def alone(loss):
    """A loss without further outputs, for `slopes`."""
    return lambda logits: (loss(logits), [])


def check_equal(poisoned, expected, name):
    """Finite arrays, and the same."""
    for values, wanted in zip(keras.tree.flatten(poisoned), keras.tree.flatten(expected)):
        assert np.isfinite(values).all(), name
        np.testing.assert_allclose(values, wanted, rtol=1e-6, atol=1e-6, err_msg=name)


def results(layer, first, second, options):
    """Yields outputs, and gradients by float input and by weight, for two lists of arrays."""
    floats = [place for place, array in enumerate(first) if array.dtype == "float32"]
    variables = layer.trainable_variables

    def loss(*given):
        inputs = list(first)
        for place, tensor in zip(floats, given):
            inputs[place] = tensor
        with keras.StatelessScope(state_mapping=list(zip(variables, given[len(floats) :]))):
            outputs = keras.tree.flatten(layer(*inputs, **options))
        return sum(ops.sum(ops.sin(output)) for output in outputs), outputs

    found, weights = slopes(loss, len(floats) + len(variables)), [v.value for v in variables]
    for arrays in (first, second):
        _, outputs, gradients = found([*(arrays[place] for place in floats), *weights])
        yield outputs, dict(zip(floats, gradients)), gradients[len(floats) :]


def main():
    check_layers(("additive_key", "multi_head_self", "copy_mixture", "neural_turing_machine"))
    check_pairs(CROSS)
    check_memories()
    check_losses()


if __name__ == "__main__":
    main()

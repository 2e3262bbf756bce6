"""What training does on JAX's devices; run as a module, under JAX with eight of them."""

import gc
import weakref

import keras
import numpy as np
from keras import ops

from keras_attn.decoding import Beam, Greedy, Sampling, decode
from keras_attn.models.transformer.transformer import Transformer
from keras_attn.models.transformer.transformer_config import TransformerConfig
from keras_attn.ops.compiled import CompiledFunctions
from keras_attn.training import TokenCrossEntropy, devices, transformer_layout
from keras_attn.training.jax_devices import JaxDevices

DEVICES = 8


def raises(error, text, function, *arguments):
    """Asserts that a call raises an error that says something."""
    try:
        function(*arguments)
    except error as raised:
        assert text in str(raised), raised
    else:
        raise AssertionError(f"no {error.__name__}")


def model():
    """A small Transformer with known weights."""
    keras.utils.set_random_seed(7)
    sizes = {"hidden_dim": 16, "intermediate_dim": 24, "num_heads": 2, "key_dim": 8}
    built = Transformer(TransformerConfig(29, num_layers=1, dropout=0.0, **sizes))
    built.build()
    return built


def check_strategies():
    """Names become devices, or errors."""
    assert devices.strategy_for("auto", {"TPU_NAME": "local"}) == "one"
    assert devices.strategy_named("one").num_replicas_in_sync == 1
    assert devices.strategy_named("mirrored").num_replicas_in_sync == DEVICES
    raises(ValueError, "Expected a TPU", JaxDevices, "tpu")
    raises(ValueError, "Received: 'multiworker'", JaxDevices, "multiworker")
    assert devices.precision_policy("auto") == "float32"
    assert devices.precision_policy("bfloat16") == "mixed_bfloat16"
    raises(ValueError, "on the JAX backend", devices.precision_policy, "float16")
    assert devices.jit_compile_for("mirrored")


def check_layout():
    """A step over heads, units and rows of a batch is that of one device."""
    random = np.random.default_rng(3)
    source, tokens = (random.integers(3, 29, (4, length)) for length in (5, 7))
    batch, targets = {"source": source, "tokens": tokens}, np.roll(tokens, -1, 1)
    found = []
    for split in (False, True):
        mesh = keras.distribution.DeviceMesh((4, 2), ["batch", "model"])
        whole = keras.distribution.ModelParallel(
            layout_map=transformer_layout(mesh), batch_dim_name="batch"
        )
        keras.distribution.set_distribution(whole if split else None)
        learner = model()
        if split:
            kernel = learner.encoder.blocks[0].attention.query_kernel.value
            shape = kernel.addressable_shards[0].data.shape
            assert shape == (16, 1, 8), (shape, kernel.sharding)
        learner.compile(keras.optimizers.SGD(0.1), TokenCrossEntropy())
        learner.train_on_batch(batch, targets, sample_weight=np.ones(targets.shape, "float32"))
        found.append(learner.get_weights())
    keras.distribution.set_distribution(None)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, one, atol=1e-5)
    flat = keras.distribution.DeviceMesh((DEVICES,), ["batch"])
    raises(ValueError, "an axis 'model'", transformer_layout, flat)


def check_compiled_searches():
    """A search that JAX has compiled sees what was learned since, and goes with its model."""
    stepper = model()
    context = {"source": np.array([[5, 7, 11], [13, 0, 0]], "int32")}
    for strategy in (Greedy(), Beam(3), Sampling(seed=5)):
        for _ in range(2):
            direct = decode(stepper, context, strategy, 6)
            answer = stepper.generate(context, strategy, 6)
            for part, expected in zip(answer, direct, strict=True):
                np.testing.assert_allclose(part, expected, rtol=1e-5, atol=1e-5)
            for variable in stepper.trainable_variables:
                variable.assign(-1.3 * variable)
    assert len(stepper._functions) == 3
    stepper.generate(context, Sampling(seed=ops.convert_to_tensor(5)), np.int32(6))
    assert len(stepper._functions) == 3
    few = CompiledFunctions(stepper, most=2)
    for length in (2, 3, 5):
        Greedy().run(stepper, context, length, few)
    assert len(few) == 2
    reference = weakref.ref(stepper)
    del stepper
    gc.collect()
    assert reference() is None


if __name__ == "__main__":
    check_strategies()
    check_layout()
    check_compiled_searches()

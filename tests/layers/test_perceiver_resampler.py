"""The Perceiver resampler against its slow twin and the one of transformers."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
from keras import ops

from keras_attn.layers import PerceiverResampler
from tests.reference import perceiver as twin

RANDOM = np.random.default_rng(11)
INPUTS = RANDOM.normal(size=(2, 7, 5)).astype("float32")
LENGTHS = (4, 7)
MASK = np.arange(7) < np.array(LENGTHS)[:, None]


def resampler(**options):
    """3 latents and 2 layers of 2 heads, weights at random."""
    layer = PerceiverResampler(3, 2, 2, 5, 13, **options)
    layer.build(INPUTS.shape)
    for weight in layer.weights:
        if "generator" not in weight.path:
            weight.assign(RANDOM.normal(0, 0.7, weight.shape))
    return layer


def parameters(layer):
    """float64 arrays by names inside the layer."""
    return {weight.path.split("/", 1)[1]: np.array(weight, "float64") for weight in layer.weights}


@pytest.mark.parametrize(("use_bias", "epsilon"), [(False, 1e-6), (True, 1e-2)])
def test_equals_its_twin(use_bias, epsilon):
    layer = resampler(use_bias=use_bias, epsilon=epsilon)
    latents, weights = layer(INPUTS, mask=MASK, return_attention_scores=True)
    for row, length in enumerate(LENGTHS):
        expected, heads = twin.resample(parameters(layer), INPUTS[row, :length], 2, epsilon, "gelu")
        np.testing.assert_allclose(latents[row], expected, rtol=1e-4, atol=1e-5)
        for shown, wanted in zip(map(ops.convert_to_numpy, weights), heads, strict=True):
            real = np.append(MASK[row], [True] * 3)
            np.testing.assert_allclose(shown[row][..., real], wanted, rtol=1e-4, atol=1e-6)
            assert not np.any(shown[row][..., ~real])


def test_padding_is_not_seen_and_latents_have_no_mask():
    layer = resampler()
    expected = layer(INPUTS[:1, :4])
    longer = np.where(MASK[:1, :, None], INPUTS[:1], np.nan)
    np.testing.assert_allclose(layer(longer, mask=MASK[:1]), expected, rtol=1e-5, atol=1e-6)
    embedded = keras.layers.Embedding(7, 5, mask_zero=True)(np.array([[3, 2, 0, 0], [1, 4, 2, 6]]))
    latents, (weights, _) = layer(embedded, return_attention_scores=True)
    assert not np.any(weights[0, ..., 2:4]) and np.all(weights[1, ..., :4] > 0)
    assert getattr(latents, "_keras_mask", None) is None


def test_inputs_in_any_order_and_latents_in_any_order():
    layer = resampler()
    expected, order = layer(INPUTS), RANDOM.permutation(7)
    np.testing.assert_allclose(layer(INPUTS[:, order]), expected, rtol=1e-4, atol=1e-5)
    layer.latents.assign(layer.latents.numpy()[[2, 0, 1]])
    turned = expected.numpy()[:, [2, 0, 1]]
    np.testing.assert_allclose(layer(INPUTS), turned, rtol=1e-4, atol=1e-5)


def test_an_example_of_padding_only():
    layer = resampler()
    nothing = np.zeros((2, 7), bool)
    latents, weights = layer(INPUTS, mask=nothing, return_attention_scores=True)
    np.testing.assert_allclose(latents[0], latents[1], rtol=1e-5, atol=1e-6)
    assert np.isfinite(latents).all() and not np.any(weights[0][..., :7])
    np.testing.assert_allclose(np.sum(weights[1], -1), 1, rtol=1e-6)


def test_dropout_only_in_training():
    layer = resampler(dropout=0.5)
    assert not np.allclose(layer(INPUTS, training=True), layer(INPUTS))


def test_bad_arguments():
    with pytest.raises(ValueError, match="Received: num_latents=0"):
        PerceiverResampler(0, 2, 2, 5, 13)
    with pytest.raises(ValueError, match="Received: num_layers=0"):
        PerceiverResampler(3, 0, 2, 5, 13)
    with pytest.raises(ValueError, match="Received: dropout=1"):
        PerceiverResampler(3, 2, 2, 5, 13, dropout=1)


@pytest.mark.slow
def test_equals_that_of_transformers():
    torch = pytest.importorskip("torch")
    perceiver = pytest.importorskip("transformers.models.idefics.perceiver")
    config = SimpleNamespace(
        perceiver_config=SimpleNamespace(qk_layer_norms_perceiver=False),
        vision_config=SimpleNamespace(embed_dim=5),
    )
    torch.manual_seed(3)
    theirs = perceiver.IdeficsPerceiverResampler(config, 5, 2, 2, 3, 11)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    layer = PerceiverResampler(11, 2, 2, 3, 20, activation="relu", epsilon=1e-5)
    layer.build(INPUTS.shape)

    def copy(norm, other):
        norm.set_weights([other.weight.detach().numpy(), other.bias.detach().numpy()])

    def copy_kernel(kernel, other):
        kernel.assign(ops.reshape(other.weight.detach().numpy().T, kernel.shape))

    layer.latents.assign(theirs.latents.detach().numpy())
    for block, (attention, net) in zip(layer.blocks, theirs.blocks, strict=True):
        copy(block.inputs_normalization, attention.context_layer_norm)
        copy(block.residuals[0].normalization, attention.latents_layer_norm)
        copy(block.residuals[1].normalization, net.ln)
        copy_kernel(block.attention.query_kernel, attention.q_proj)
        copy_kernel(block.attention.key_kernel, attention.k_proj)
        copy_kernel(block.attention.value_kernel, attention.v_proj)
        copy_kernel(block.attention.output_kernel, attention.output_proj)
        copy_kernel(block.feed_forward.hidden_kernel, net.fc)
        copy_kernel(block.feed_forward.output_kernel, net.c_proj)
    copy(layer.last_norm, theirs.layer_norm)
    with torch.no_grad():
        expected = theirs(torch.from_numpy(INPUTS)).numpy()
    np.testing.assert_allclose(layer(INPUTS), expected, rtol=1e-4, atol=1e-5)

"""The classifier's service and its export: labels, probabilities and rollout."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import (
    ENCODER_WEIGHTS,
    ERROR,
    IMAGE,
    LABEL_SCORES,
    LABELS,
    WEIGHTS,
)
from keras_attn.images.formats.reasons import EMPTY, UNKNOWN
from keras_attn.models import SmallConvEncoder
from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer
from keras_attn.models.vision_transformer.vision_transformer_config import VisionTransformerConfig
from keras_attn.ops.rollout import attention_rollout
from keras_attn.saved.loading import load
from keras_attn.serving import LabelService
from keras_attn.serving.client import RestClient
from keras_attn.serving.declared import read_metadata
from keras_attn.serving.export import export_service, graph_ops, unservable_ops
from keras_attn.serving.precision import precision_of, set_precision
from keras_attn.serving.warm_up import WARM_UP_FILE
from keras_attn.serving.writers import LabelWriter
from keras_attn.text.label_table import LabelTable
from tests.serving.servers import Backend, rest_server
from tests.serving.tiny_labels import FORMAT, NAMES, classifier, classifier_service
from tests.serving.tiny_service import PICTURES

GOOD = [0, 1, 3]


@pytest.fixture(scope="module")
def service(service_named):
    return service_named("picture_labels")


@pytest.fixture(scope="module")
def version(version_named):
    return version_named("picture_labels")


def slow_rollout(weights, row):
    """The class token's rollout by loops over blocks and heads."""
    product = np.eye(weights[0].shape[-1])
    for block in weights:
        mean = np.mean([np.asarray(block[row, head]) for head in range(block.shape[1])], axis=0)
        mixed = mean + np.eye(len(mean))
        product = (mixed / mixed.sum(axis=1, keepdims=True)) @ product
    return product[0, 1:].reshape(5, 7)


def test_answers_equal_a_slow_computation(service):
    answer = service.attention(tf.constant(PICTURES))
    assert answer[ERROR].numpy().tolist() == [b"", b"", UNKNOWN.encode(), b"", EMPTY.encode()]
    for row in GOOD:
        pixels = FORMAT.decode(tf.constant(PICTURES[row]))[None]
        logits = service.model(pixels).numpy()[0].astype("float64")
        shares = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        best = sorted(range(5), key=lambda index: -shares[index])[:3]
        actual = [text.decode() for text in answer[LABELS][row].numpy()]
        assert actual == [NAMES[index] for index in best]
        np.testing.assert_allclose(answer[LABEL_SCORES][row], shares[best], rtol=1e-5)
        _, weights = service.model.encoder.pool(pixels)
        expected = slow_rollout(weights, 0)
        np.testing.assert_allclose(answer[WEIGHTS][row], expected, atol=1e-6)
        every = np.stack([np.asarray(weight[0]) for weight in weights])
        np.testing.assert_allclose(answer[ENCODER_WEIGHTS][row], every, atol=1e-6)
    assert (np.sum(answer[LABEL_SCORES], axis=1) <= 1).all()


def test_the_mean_of_patches_has_a_rollout_too():
    sizes = VisionTransformerConfig((15, 21), 3, 2, 10, 13, 2, pooling="mean")
    service = classifier_service(classifier(VisionTransformer(sizes)))
    shares = service.explain(tf.constant(PICTURES[:2]))[WEIGHTS]
    assert shares.shape == (2, 5, 7)
    np.testing.assert_allclose(np.sum(shares, (1, 2)), 1.0, atol=1e-5)


def test_the_pooling_s_query_has_a_rollout_too():
    sizes = VisionTransformerConfig((15, 21), 3, 2, 10, 13, 2, pooling="attention")
    service = classifier_service(classifier(VisionTransformer(sizes)))
    shares = service.explain(tf.constant(PICTURES[:2]))[WEIGHTS]
    pixels = FORMAT.decode_batch(tf.constant(PICTURES[:2]))[0]
    _, weights, scores = service.model.encoder.pool(pixels, return_pooling_scores=True)
    rollout = np.array(attention_rollout(weights))
    expected = np.mean(scores, axis=1)[:, None] @ rollout
    np.testing.assert_allclose(shares, expected.reshape(2, 5, 7), atol=1e-5)


def test_registers_are_in_no_patch_s_share():
    """As those of DINOv2, or the distillation token of DeiT."""
    sizes = VisionTransformerConfig((15, 21), 3, 2, 10, 13, 2, num_registers=3)
    encoder = VisionTransformer(sizes)
    encoder.registers.assign(np.random.default_rng(5).normal(size=(3, 10)))
    service = classifier_service(classifier(encoder))
    shares = service.explain(tf.constant(PICTURES[:2]))[WEIGHTS]
    pixels = FORMAT.decode_batch(tf.constant(PICTURES[:2]))[0]
    rollout = np.array(attention_rollout(encoder.pool(pixels)[1]))
    assert rollout.shape == (2, 39, 39)
    np.testing.assert_allclose(shares, rollout[:, 0, 4:].reshape(2, 5, 7), atol=1e-6)
    others = rollout[:, 0, :4].sum(axis=1)
    np.testing.assert_allclose(np.sum(shares, axis=(1, 2)), 1 - others, atol=1e-5)


@pytest.mark.systems
def test_weights_stored_in_float16_answer_alike(service, tmp_path):
    half = export_service(service, tmp_path / "half", "card", storage="float16")
    assert not unservable_ops(half)
    expected = service.attention(tf.constant(PICTURES))
    for row, answer in enumerate(load(half).ask("attention", image=PICTURES)):
        for key in (LABEL_SCORES, WEIGHTS, ENCODER_WEIGHTS):
            np.testing.assert_allclose(answer[key], expected[key][row], atol=5e-3, err_msg=key)


@pytest.mark.systems
def test_a_client_has_the_answers_of_the_saved_model(version, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    saved = load(version)
    with rest_server(Backend("classes", saved.outputs)) as address:
        asked = RestClient(address, "classes", deadline=120.0)
        for signature in ("serving_default", "explain", "attention"):
            answers = asked.ask(signature, image=PICTURES, batch=2)
            for answer, other in zip(answers, saved.ask(signature, image=PICTURES), strict=True):
                assert set(answer) == set(other) and answer[ERROR] == other[ERROR]
                np.testing.assert_array_equal(answer[LABELS], other[LABELS])
                for key in set(answer) - {LABELS, ERROR}:
                    np.testing.assert_allclose(answer[key], other[key], atol=1e-6, err_msg=key)


def test_metadata_and_labels_lie_beside_the_graph(version):
    metadata = read_metadata(version)
    assert metadata["n_best"] == 3 and metadata["image_size"] == [15, 21]
    assert "beam_width" not in metadata and metadata["precision"] == "float32"
    assert "DecodeImage" in graph_ops(version)
    assert LabelTable.load(version / "assets.extra" / "labels").names == tuple(NAMES)
    records = list(tf.data.TFRecordDataset(str(version / WARM_UP_FILE)).as_numpy_iterator())
    assert len(records) == 8 and all(IMAGE.encode() in record for record in records)


def test_bfloat16_is_near_float32(service):
    low = classifier()
    set_precision(low, "bfloat16")
    assert precision_of(low) == "bfloat16" and low.head.compute_dtype == "float32"
    answer, expected = (
        classifier_service(model, 5).answer(PICTURES[:1]) for model in (low, service.model)
    )
    for label in NAMES:
        scores = [
            float(value[LABEL_SCORES][0][value[LABELS][0].numpy().tolist().index(label.encode())])
            for value in (answer, expected)
        ]
        assert abs(scores[0] - scores[1]) < 0.05


def test_another_encoder_answers_with_labels_alone():
    service = classifier_service(classifier(SmallConvEncoder((3, 5), (2, 2))), 9)
    assert list(service.signatures()) == list(service.requests(1)) == ["serving_default", "score"]
    answer = service.answer(tf.constant(PICTURES[:1]))
    assert sorted(answer[LABELS][0].numpy()) == sorted(value.encode() for value in NAMES)
    np.testing.assert_allclose(np.sum(answer[LABEL_SCORES]), 1.0, atol=1e-6)


@pytest.mark.parametrize(
    ("labels", "n_best", "message"),
    [
        (NAMES[:4], 1, "Expected 5 labels, one per class of the model. Received: 4"),
        (NAMES, 0, "Expected n_best >= 1. Received: n_best=0"),
    ],
)
def test_bad_arguments(service, labels, n_best, message):
    with pytest.raises(ValueError, match=message):
        writer = LabelWriter(LabelTable(labels), n_best)
        LabelService(service.model, service.reader, writer, service.signature_functions, {})

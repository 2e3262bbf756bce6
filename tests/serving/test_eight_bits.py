"""Products in 8 bits: how close they are, where they are chosen, and that they are exported."""

import concurrent.futures

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding import Greedy
from keras_attn.saved.loading import load
from keras_attn.serving import eight_bits
from keras_attn.serving.declared import read_metadata
from keras_attn.serving.eight_bits import EightBitProducts, EightBits, check_products, products_of
from keras_attn.serving.export import export_service, graph_ops, unservable_ops
from keras_attn.serving.precision import set_precision
from tests.serving.tiny_sequence_service import sequence_service
from tests.serving.tiny_text_service import SOURCES, text_service

PRODUCT = "_QuantizedMatMul"


def matrix(depth, columns, seed=3):
    return np.random.default_rng(seed).normal(size=(depth, columns)).astype("float32")


def products_in(service, products="int8"):
    return EightBitProducts(service.model, service.signatures(), products, service.jit)


def every_shape(works):
    return {matrix.shape for work in works for matrix in work.matrices.values()}


@pytest.fixture(scope="module")
def traced():
    """A service, and the matrices that it multiplies with where it answers with texts."""
    service = text_service(Greedy())
    name = "serving_default"
    return service, eight_bits.used_works(service.model, {name: service.signatures()[name]})


@pytest.fixture
def known(monkeypatch, traced):
    """That service, whose functions need not be traced again."""
    service, works = traced
    monkeypatch.setattr(eight_bits, "used_works", lambda model, signatures: works)
    return service


@pytest.fixture
def always(monkeypatch):
    """Every shape is faster in 8 bits."""
    monkeypatch.setattr(eight_bits, "faster_shapes", every_shape)


def test_products_are_close():
    kernel, rows = matrix(211, 37), matrix(5, 211, seed=5)
    kernel[:, 7] = 0.0
    rows[3] = 0.0
    rows[2] *= 1000.0
    multiply = products_of([EightBits(kernel)])
    product, exact = multiply(rows)[0].numpy(), rows @ kernel
    assert product.dtype == np.float32
    error = np.linalg.norm(product - exact, axis=1) / np.maximum(np.linalg.norm(exact, axis=1), 1)
    assert 0.001 < error.max() < 0.03
    assert not product[3].any() and not product[:, 7].any()
    for place, row in enumerate(product):
        np.testing.assert_array_equal(multiply(rows[place : place + 1])[0][0], row)
    assert multiply(np.zeros((0, 211), "float32"))[0].shape == (0, 37)


def test_whole_numbers_do_not_overflow():
    """Without VNNI, two products have to fit into 16 bits."""
    kernel, rows = np.ones((64, 3), "float32"), np.ones((2, 64), "float32")
    whole, _ = EightBits(kernel).stored
    assert np.abs(whole.numpy().astype(int)).max() * 2 * 255 < 2**15
    np.testing.assert_allclose(products_of([EightBits(kernel)])(rows)[0], 64.0, rtol=1e-6)


def test_faster_shapes_are_chosen(monkeypatch):
    gains = {(3, 5): [1.4, 2.0], (5, 3): [0.9, 3.0], (5, 7): [1.1, 1.01]}
    monkeypatch.setattr(eight_bits, "_gains", lambda matrices: gains[matrices[0].shape])
    works = [
        eight_bits.Work(None, {"hidden": matrix(3, 5), "output": matrix(5, 3)}),
        eight_bits.Work(None, {"factor": matrix(5, 7)}),
    ]
    assert eight_bits.faster_shapes(works) == {(3, 5), (5, 7)}


def test_gains_are_measured(monkeypatch):
    asked = []

    def seconds(function, inputs):
        kinds = {node.op for node in function.get_concrete_function().graph.as_graph_def().node}
        asked.append(len(inputs))
        return 1.0 if PRODUCT in kinds else 3.0

    monkeypatch.setattr(eight_bits, "processor_seconds", seconds)
    assert list(eight_bits._gains([matrix(3, 5), matrix(3, 5)])) == [3.0, 3.0]
    assert set(asked) == set(eight_bits.ROWS)


def test_layers_are_as_before_after_the_context(always, known):
    products, decoder = products_in(known), known.model.decoder
    with products.apply():
        assert decoder.blocks[0].feed_forward.factors and decoder.embedding.factor is not None
        assert isinstance(decoder.blocks[0].attention.loop_kernels().joined, EightBits)
    assert not decoder.blocks[0].feed_forward.factors and decoder.embedding.factor is None
    assert products.variables() == []


def test_a_layer_is_chosen_as_a_whole(monkeypatch, known):
    monkeypatch.setattr(eight_bits, "faster_shapes", lambda works: {(14, 11)})
    assert products_in(known).kind == "float32"


def test_matrices_that_nothing_multiplies_with_have_no_say(traced):
    """A table that is only looked up, and kernels of joined products beside them."""
    service, works = traced
    used = {id(work.layer): set(work.matrices) for work in works}
    decoder = service.model.decoder
    every = {id(work.layer) for work in eight_bits.works_of(service.model)}
    assert id(decoder.embedding) in used and every - set(used)
    assert used[id(decoder.blocks[0].attention)] == {"joined", "output"}
    assert used[id(decoder.blocks[0].cross_attention)] == {"query", "key_value", "output"}


def test_what_cannot_be_multiplied_in_8_bits(monkeypatch):
    service = text_service()
    model = service.model
    with pytest.raises(ValueError, match=r"products of \('float32', 'int8'\). Received: 'int4'"):
        products_in(service, "int4")
    with pytest.raises(ValueError, match="nets or tied embeddings for products"):
        check_products("int8", sequence_service("lstm").model)

    def absent(*arguments):
        raise tf.errors.NotFoundError(None, None, f"No registered '{PRODUCT}'")

    monkeypatch.setattr(eight_bits, "quantized_matmul", absent)
    with pytest.raises(ValueError, match=f"oneDNN's .* Received: No registered '{PRODUCT}'"):
        products_in(service)
    service.jit = True
    with pytest.raises(ValueError, match="Expected products='float32' with jit=True"):
        products_in(service)
    service.jit = False
    table = model.decoder.embedding.table
    table.assign(np.full(table.shape, np.nan))
    with pytest.raises(ValueError, match="Expected finite weights"):
        products_in(service)
    set_precision(model, "bfloat16")
    with pytest.raises(ValueError, match="Expected products='float32' with precision 'bfloat16'"):
        products_in(service)


@pytest.fixture
def pair(always, tmp_path):
    """Two services whose weights differ, by their versions in 8 bits."""
    services = {}
    for name, factor in (("one", 1.0), ("other", 0.5)):
        service = text_service(Greedy())
        service.model.set_weights([factor * weight for weight in service.model.get_weights()])
        version = export_service(service, tmp_path / name, "card", None, "int8", "int8")
        services[version] = service
    return services


@pytest.mark.slow
def test_an_export_answers_in_8_bits(pair):
    """The operation knows weights by their address, so several models are loaded in turns."""
    given = {"source": list(SOURCES), "target": ["eins", "zwei", "drei"]}
    for version in [*pair, *pair][:3]:
        service = pair[version]
        model, score = load(version), service.functions()["score"][0]
        exact = score(*map(tf.constant, given.values()))["score"]
        close = model.outputs("score", given)["score"]
        np.testing.assert_allclose(close, exact, rtol=0.1)
        assert np.abs(close - exact).max() > 1e-4
        assert read_metadata(version)["products"] == "int8"
        assert PRODUCT in graph_ops(version) and not unservable_ops(version)
    in_python = tf.saved_model.load(str(version)).signatures["score"]
    same = in_python(**{key: tf.constant(texts) for key, texts in given.items()})["score"]
    np.testing.assert_allclose(same, close, atol=1e-5)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for answer in [pool.submit(model.outputs, "score", given) for _ in range(8)]:
            np.testing.assert_array_equal(answer.result()["score"], close)

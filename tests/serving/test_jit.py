"""Searches under XLA: the same answers, and what cannot be compiled."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import IMAGE, SOURCE, DecodeResult
from keras_attn.decoding import Greedy
from keras_attn.saved.loading import load
from keras_attn.serving.declared import read_metadata
from keras_attn.serving.export import export_service, unservable_ops
from keras_attn.serving.jit import BUCKET, alone_by_xla, compile_searches
from tests.serving.test_precision import functions
from tests.serving.tiny_fact_service import fact_service
from tests.serving.tiny_parser_service import parser_service
from tests.serving.tiny_sequence_service import sequence_service
from tests.serving.tiny_service import PICTURES, caption_service
from tests.serving.tiny_text_service import SOURCES, text_service


def prompted_service():
    """Answers that begin with a prompt, and are as long as they may be."""
    service = caption_service()
    service.writer.prompt = (7, 11, 13)
    return service


SERVICES = {
    "texts": (lambda: text_service(Greedy()), SOURCE, SOURCES),
    "pictures": (caption_service, IMAGE, PICTURES[:3]),
    "pictures, with a prompt": (prompted_service, IMAGE, PICTURES[:3]),
}


@pytest.mark.slow
@pytest.mark.parametrize(("make", "key", "given"), SERVICES.values(), ids=SERVICES)
def test_answers_are_the_same(make, key, given, tmp_path):
    plain = load(export_service(make(), tmp_path / "plain", "card", storage="int8"))
    service = make()
    compile_searches(service)
    version = export_service(service, tmp_path / "jit", "card", storage="int8")
    assert not unservable_ops(version) and read_metadata(version)["jit"] is True
    compiled = [each for each in functions(version) if each.attr["_XlaMustCompile"].b]
    assert any("compiled" in function.signature.name for function in compiled)
    fast = load(version)
    for rows in ([each] for each in given), [given[:3], []]:
        for request in rows:
            expected = plain.outputs("explain", {key: request})
            answer = fast.outputs("explain", {key: request})
            assert answer.keys() == expected.keys()
            for name, value in expected.items():
                if value.dtype == object:
                    np.testing.assert_array_equal(answer[name], value, err_msg=name)
                else:
                    np.testing.assert_allclose(answer[name], value, atol=1e-4, err_msg=name)


def test_sources_of_few_lengths_are_compiled_for_single_requests():
    shapes = []

    def search(context, steps):
        shapes.append(tuple(context[SOURCE].shape))
        tokens = tf.tile(context[SOURCE][:, None, :1], [1, 1, steps])
        scores = tf.cast(tokens, "float32")
        weights = scores[..., None] + tf.zeros_like(context[SOURCE][:, None, None], "float32")
        sums = tf.reduce_sum(context[SOURCE], axis=1)[:, None]
        return DecodeResult(tokens, sums, scores[..., 0], scores, weights)

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)], autograph=False)
    def searched(source):
        return alone_by_xla(search, {SOURCE: source}, 5, lambda pieces: pieces + 1)

    for rows, pieces in ((1, 3), (1, BUCKET), (1, BUCKET + 1), (2, 3)):
        result = searched(np.full((rows, pieces), 7, "int32"))
        assert result.tokens.shape == result.token_scores.shape == (rows, 1, 5)
        assert result.weights.shape == (rows, 1, 5, pieces)
        np.testing.assert_array_equal(result.lengths, np.full((rows, 1), 7 * pieces))
    assert len(shapes) == 2


def test_what_cannot_be_compiled(monkeypatch):
    with pytest.raises(ValueError, match="Expected a model that decodes answers for jit=True"):
        compile_searches(sequence_service("lstm"))
    for make in (fact_service, parser_service):
        service = make()
        with pytest.raises(ValueError, match="Expected a model of pictures or of one text"):
            compile_searches(service)
        assert service.jit is False
    service = caption_service()

    def answer(*inputs):
        raise tf.errors.UnimplementedError(None, None, "no kernel\nfor it")

    monkeypatch.setattr(service, "answer", answer)
    with pytest.raises(ValueError, match=r"XLA can compile .* no kernel$"):
        compile_searches(service)

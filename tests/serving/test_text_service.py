"""The text service and its export: texts in, texts out, bad items apart, no XLA."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import END_ID, ERROR, SCORE, START_ID, TEXT, TOKEN_SCORES
from keras_attn.decoding import Beam, Greedy, Sampling
from keras_attn.models import RecurrentSeq2Seq
from keras_attn.saved.loading import load
from keras_attn.serving.client import GrpcClient, RestClient
from keras_attn.serving.declared import read_metadata
from keras_attn.serving.export import export_service, graph_ops, unservable_ops
from keras_attn.serving.precision import precision_of, set_precision
from keras_attn.serving.readers.reasons import EMPTY, MOST_BYTES, NOT_UTF8
from keras_attn.serving.warm_up import WARM_UP_FILE
from keras_attn.text.tokenizer import Tokenizer
from tests.serving.servers import Backend, grpc_server, rest_server
from tests.serving.tiny_text_service import LENGTH, LONGEST_SOURCE, text_service, texts_of

TEXTS = [
    b"one two three",
    b"",
    "five ☂".encode(),
    b" \t\x00",
    b"\xff one",
    b"two " * 40,
    b"x" * (MOST_BYTES + 1),
    b"seven",
]
LONG = f"a source of 41 pieces, its end included (expected at most {LONGEST_SOURCE})"
LARGE = f"{MOST_BYTES + 1} bytes (expected at most {MOST_BYTES})"
REASONS = ["", EMPTY, "", EMPTY, NOT_UTF8, LONG, LARGE, ""]
GOOD = [0, 2, 7]


@pytest.fixture(scope="module")
def service(tiny_text_service):
    return tiny_text_service


@pytest.fixture(scope="module")
def saved(saved_named):
    return saved_named("texts")


def test_bad_texts_have_their_own_reasons(saved):
    answers = saved.ask("explain", source=TEXTS)
    assert [answer[ERROR].decode() for answer in answers] == REASONS
    for row, each_answer in enumerate(answers):
        if row in GOOD:
            assert (each_answer[SCORE] < 0).all() and each_answer["tokens"].any()
            assert each_answer["source_pieces"][-1] in (b"", b"</s>")
            sums = each_answer["weights"].sum(-1)
            np.testing.assert_allclose(sums, each_answer["tokens"] != 0, atol=1e-5)
            count = np.count_nonzero(each_answer["source_pieces"] != b"")
            assert not each_answer["weights"][..., count:].any()
        else:
            assert each_answer[TEXT].tolist() == [b"", b""] and not each_answer[SCORE].any()
            assert not each_answer["tokens"].any() and not each_answer["weights"].any()
            assert not (each_answer["source_pieces"] != b"").any()


def test_score_equals_the_model_step_by_step(service, saved):
    sources, targets = [b"one two", b"seven"], ["zwei fünf", ""]
    answers = saved.ask("score", source=sources, target=targets)
    for source, target, answer in zip(sources, targets, answers):
        tokens = [*service.writer.vocabulary.encode([target]).to_list()[0], END_ID]
        pieces = [[*service.reader.tokenizer.encode([source]).to_list()[0], END_ID]]
        memory, state = service.model.start(tf.constant(pieces), len(tokens))
        expected, before = [], 2
        for token in tokens:
            result = service.model.step(tf.constant([before]), memory, state)
            expected.append(float(tf.nn.log_softmax(result.logits)[0, token]))
            state, before = result.state, token
        np.testing.assert_allclose(answer[TOKEN_SCORES][: len(tokens)], expected, atol=1e-4)
        np.testing.assert_allclose(answer[SCORE], sum(expected), atol=1e-4)


def test_bad_pairs_to_score(saved):
    targets = [b"eins", b"eins", b"\xff", b"eins", b"eins", b"eins", b"eins", b"zwei " * 30]
    answers = saved.ask("score", source=TEXTS, target=targets)
    target_reason = f"a target of 31 pieces, its end included (expected at most {LENGTH})"
    expected = ["", EMPTY, f"the target: {NOT_UTF8}", *REASONS[3:7], target_reason]
    assert [value[ERROR].decode() for value in answers] == expected
    assert [bool(value[TOKEN_SCORES].any()) for value in answers] == [
        value == "" for value in expected
    ]
    with pytest.raises(ValueError, match=r"equal length.*'source': 2, 'target': 1"):
        saved.ask("score", source=TEXTS[:2], target=targets[:1])


@pytest.mark.systems
def test_attention_equals_the_model(service, saved):
    sources = [b"one two three", b"", b"seven"]
    answers = saved.ask("serving_default", source=sources)
    weights = saved.ask("attention", source=sources)
    for source, answer, weight in zip(sources, answers, weights):
        assert weight[ERROR].decode() == ("" if source else EMPTY)
        assert weight[TEXT] == answer[TEXT][0]
        keys = ("encoder_weights", "decoder_weights", "cross_weights")
        if not source:
            assert not any(weight[key].any() for key in keys)
            continue
        best = service.explain(tf.constant([source]))["tokens"][0, 0]
        tokens = [int(token) for token in best if token != 0]
        pieces = [[*service.reader.tokenizer.encode([source]).to_list()[0], END_ID]]
        batch = {"source": tf.constant(pieces), "tokens": tf.constant([[START_ID, *tokens[:-1]]])}
        read, said = (
            [piece.decode() for piece in weight[key] if piece]
            for key in ("source_pieces", "pieces")
        )
        assert (len(read), len(said)) == (len(pieces[0]), len(tokens))
        assert read[-1] == "</s>" and (said[-1] == "</s>") == (tokens[-1] == END_ID)
        for name, expected in service.model.attention(batch)._asdict().items():
            expected = np.stack(expected)[:, 0]
            actual = weight[f"{name}_weights"][..., : expected.shape[2], : expected.shape[3]]
            np.testing.assert_allclose(actual, expected, atol=1e-5, err_msg=name)


def test_attention_to_given_targets(service, saved):
    """Equal to the model's attention to each pair alone, also beside longer ones."""
    sources = [b"one two three", b"", b"seven", b"one two"]
    targets = [b"eins zwei drei", b"eins", b"", b"\xff"]
    pairs = saved.ask("align", source=sources, target=targets)
    errors = [pair[ERROR].decode() for pair in pairs]
    assert errors == ["", EMPTY, "", f"the target: {NOT_UTF8}"]
    for source, target, pair, error in zip(sources, targets, pairs, errors):
        weights, pieces = pair["cross_weights"], pair["pieces"]
        if error:
            assert not weights.any() and not (pieces != b"").any()
            continue
        tokens = service.writer.vocabulary.encode([target]).to_list()[0]
        assert np.count_nonzero(pieces != b"") == len(tokens) + 1
        batch = {
            "source": [[*service.reader.tokenizer.encode([source]).to_list()[0], END_ID]],
            "tokens": [[START_ID, *tokens]],
        }
        batch = {key: tf.constant(value) for key, value in batch.items()}
        expected = np.stack(service.model.attention(batch).cross)[:, 0]
        steps, places = expected.shape[2:]
        np.testing.assert_allclose(weights[..., :steps, :places], expected, atol=1e-5)
        assert not weights[..., steps:, :].any() and not weights[..., places:].any()


def test_a_recurrent_model_aligns_pairs_of_which_none_can_be_read(service):
    sizes = {"embedding_dim": 5, "hidden_dim": 7, "tied": "decoder"}
    model = RecurrentSeq2Seq(
        vocabulary_size=service.reader.tokenizer.vocabulary_size,
        target_vocabulary_size=service.writer.vocabulary.vocabulary_size,
        **sizes,
    )
    limits = (Greedy(), LENGTH, LONGEST_SOURCE)
    recurrent = texts_of(model, service.writer.vocabulary, *limits, service.reader.tokenizer)
    for sources, targets in ((["one two"], ["eins"]), ([""], ["eins"]), ([], [])):
        columns = (tf.constant(column, tf.string) for column in (sources, targets))
        pair = recurrent.align(*columns)
        assert pair["cross_weights"].shape[:3] == (len(sources), 1, 1)
        assert bool(tf.reduce_any(pair["cross_weights"] > 0)) == (sources == ["one two"])


def test_answers_end_within_their_room(service):
    greedy = texts_of(service.model, service.writer.vocabulary, Greedy(), 99, 99)
    answer = greedy.explain(tf.constant(["zwei", "eins zwei drei fünf"]))
    pieces = greedy.reader.tokenizer.encode(["zwei", "eins zwei drei fünf"]).row_lengths().numpy()
    lengths = np.count_nonzero(answer["tokens"].numpy()[:, 0], axis=1)
    assert (lengths <= 2 * (pieces + 1) + 16).all()
    for row, length in enumerate(lengths):
        assert answer["tokens"][row, 0, length - 1] == END_ID


@pytest.mark.parametrize(
    "strategy, most", [(Greedy(), 1), (Beam(3, n_best=2), 2), (Sampling(n=3), 3)]
)
def test_the_metadata_say_how_many_answers_there_are(strategy, most):
    service = text_service(strategy)
    answers = service.answer(tf.constant(["a"]))
    assert answers[TEXT].shape[1] == service.metadata()["n_best"] == most


def test_what_an_export_holds(service, tiny_text_export):
    exported = tiny_text_export
    assert not unservable_ops(exported)
    assert "SentencepieceTokenizeOp" in graph_ops(exported) and "While" in str(graph_ops(exported))
    folders = sorted(
        entry.name for entry in (exported / "assets.extra").iterdir() if entry.is_dir()
    )
    assert folders == ["source_tokenizer", "tokenizer"]
    kept = Tokenizer.load(exported / "assets.extra" / "source_tokenizer")
    text = ["one two"]
    assert kept.encode(text).to_list() == service.reader.tokenizer.encode(text).to_list()
    metadata = read_metadata(exported)
    assert (metadata["max_source"], metadata["max_length"]) == (LONGEST_SOURCE, LENGTH)
    assert metadata["model"]["class_name"] == "Transformer"
    records = list(tf.data.TFRecordDataset(str(exported / WARM_UP_FILE)).as_numpy_iterator())
    assert len(records) == 10 and all(b"source" in record for record in records)


@pytest.mark.slow
def test_bfloat16(saved, tmp_path):
    low = text_service(Beam(2))
    set_precision(low.model, "bfloat16")
    assert precision_of(low.model) == "bfloat16"
    exported = export_service(low, tmp_path / "low", "card")
    assert read_metadata(exported)["precision"] == "bfloat16"
    expected = saved.ask("score", source=["one two"], target=["zwei"])[0][SCORE]
    scores = load(exported).ask("score", source=["one two"], target=["zwei"])[0][SCORE]
    assert scores.dtype == np.float32 and scores != expected
    np.testing.assert_allclose(scores, expected, rtol=0.1)
    again = low.score(tf.constant(["one two"]), tf.constant(["zwei"]))[SCORE]
    # A graph rounds once where a bias is fused with the product before it.
    np.testing.assert_allclose(scores, again[0], rtol=0.02)


def test_what_is_no_list_is_not_taken_apart(saved):
    with pytest.raises(ValueError, match="Expected a list for source"):
        saved.ask("serving_default", source="one two")
    with pytest.raises(ValueError, match="Received: batch=-1"):
        saved.ask("serving_default", source=["one"], batch=-1)
    with pytest.raises(ValueError, match=r"equal length. Received lengths: {}"):
        saved.ask("serving_default")
    with pytest.raises(ValueError, match=r"Expected inputs \['source'\]. Received: \['image'\]"):
        saved.ask("serving_default", image=["one"])


@pytest.mark.parametrize("kind", ["grpc", "rest"])
def test_the_clients_ask_a_text_model(kind, saved, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    server, client = rest_server, RestClient
    if kind == "grpc":
        reason = "tensorflow-serving-api is not installed"
        pytest.importorskip("tensorflow_serving.apis.predict_pb2", reason=reason)
        server, client = grpc_server, GrpcClient

    with server(Backend("tiny", saved.outputs)) as address:
        asked = client(address, "tiny", deadline=120.0)
        answers = asked.ask("explain", source=["five ☂", "seven", b"\xff"])
        scores = asked.ask("score", source=["seven"], target=["zwei"])
        if kind == "grpc":
            asked.close()
    expected = saved.ask("explain", source=["five ☂", "seven", b"\xff"])
    for answer, other in zip(answers, expected):
        for key in (TEXT, ERROR, "source_pieces"):
            np.testing.assert_array_equal(answer[key], other[key])
        np.testing.assert_allclose(answer[SCORE], other[SCORE], atol=1e-5)
    expected = saved.ask("score", source=["seven"], target=["zwei"])
    np.testing.assert_allclose(scores[0][SCORE], expected[0][SCORE])


def test_a_saved_model_from_elsewhere(tmp_path):
    module = tf.Module()
    spec = [tf.TensorSpec((None,), tf.string, name="sound")]
    module.run = tf.function(lambda sound: {"text": sound}, input_signature=spec)
    tf.saved_model.save(module, str(tmp_path), {"serving_default": module.run})
    (answer,) = load(tmp_path).outputs("serving_default", {"sound": [b"ping"]})["text"]
    assert answer == b"ping"
    with pytest.raises(ValueError, match="Expected an output 'error' of serving_default"):
        load(tmp_path).predict(["ping"])
    with pytest.raises(ValueError, match="Expected a SavedModel with views of where it looked"):
        load(tmp_path).explain("ping")


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        ({"a": tf.string, "b": tf.string}, "Expected a SavedModel with one input, or .*: a, b"),
        ({"a": tf.float32}, "Expected a SavedModel of strings. Received: a of type DT_FLOAT"),
    ],
)
def test_a_saved_model_that_predict_cannot_feed(tmp_path, specs, message):
    module = tf.Module()
    signature = [tf.TensorSpec((None,), kind, name=name) for name, kind in specs.items()]
    module.run = tf.function(lambda *given: {"text": given[0]}, input_signature=signature)
    tf.saved_model.save(module, str(tmp_path), {"serving_default": module.run})
    with pytest.raises(ValueError, match=message):
        load(tmp_path)

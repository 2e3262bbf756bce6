"""What keras-hub's models attend to, in Python and served."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.contracts import (
    ANSWER_PIECES,
    CROSS_WEIGHTS,
    ERROR,
    IMAGE,
    PROMPT_WEIGHTS,
    SCORE,
    SOURCE,
    SOURCE_PIECES,
    TEXT,
    WEIGHTS,
)
from keras_attn.decoding import Beam, Greedy, HubSampler, hub_attention
from keras_attn.decoding.hub_attention import _recorded, attention_layers
from keras_attn.saved import load
from keras_attn.saved.session import SavedSession
from keras_attn.serving import export_service, hub_service
from keras_attn_pipelines.cli import main
from tests.quick import rows

hub_tasks = pytest.importorskip("tests.serving.hub_tasks", reason="keras-hub is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
PROMPTS = ["the quick", "the fox"]
TASKS = sorted(hub_tasks.TASKS)


def inputs_of(task):
    given = PROMPTS
    if hasattr(task.backbone, "image_sequence_length"):
        images = np.random.default_rng(5).integers(0, 256, (2, 16, 16, 3)).astype("float32")
        given = {"prompts": PROMPTS[:1] * 2, "images": images}  # It is read as a whole.
    return task.preprocessor.generate_preprocess(given, sequence_length=hub_tasks.LENGTH)


@pytest.mark.parametrize("name", rows(TASKS, {"gpt2"}, "systems"))
def test_weights_are_those_of_every_cached_step(name, task_named):
    """The softmax of keras-hub's own cached search, and that of one pass over what it found."""
    task = task_named(name)
    inputs, kinds, found = inputs_of(task), attention_layers(task), []

    def sample(next, prompt, cache, index, mask, stop_token_ids, **others):
        found.append((HubSampler(Greedy()).search(next, prompt, cache, index, mask), index))
        return found[0][0].sequences[:, 0]

    task.compile(sampler=sample, run_eagerly=True)
    with _recorded([*kinds["self"], *kinds["cross"]]) as cached:
        task.generate_step(inputs)
    answers, index = found[0]
    part = "decoder_" if kinds["cross"] else ""
    sequences = ops.convert_to_numpy(answers.sequences[:, 0])
    read = {**inputs, f"{part}token_ids": sequences}
    read[f"{part}padding_mask"] = np.ones_like(sequences, "bool")
    if "response_mask" in inputs:
        read["response_mask"] = np.logical_not(inputs["padding_mask"])
    weights = hub_attention(task, read)
    pictured = getattr(task.backbone, "image_sequence_length", 0)
    count = len(kinds["self"])
    for layer, calls in enumerate(cached):
        whole = weights.decoder if layer < count else weights.cross
        whole = ops.convert_to_numpy(whole)[:, layer % count]
        steps = [np.array(call) for call in calls if call.shape[-2] == 1]
        assert len(steps) == hub_tasks.LENGTH - int(index) + 1
        for place, step in enumerate(steps, int(index) - 1 + pictured):
            step = step.reshape(whole[:, :, :1].shape)
            np.testing.assert_allclose(step[:, :, 0], whole[:, :, place], rtol=1e-4, atol=1e-5)


def test_weights_by_hand(task_named):
    """The first layer of GPT-2 in NumPy, also where Keras would fuse it."""
    task = task_named("gpt2")
    inputs = inputs_of(task)
    backbone, tokens = task.backbone, np.array(inputs["token_ids"])
    layer = backbone.transformer_layers[0]
    own, norm = layer._self_attention_layer, layer._self_attention_layer_norm
    embedded = backbone.token_embedding(tokens)
    x = ops.convert_to_numpy(embedded + backbone.position_embedding(embedded))
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + norm.epsilon)
    x = x * np.array(norm.gamma) + np.array(norm.beta)
    query, key = (
        np.einsum("btd,dhk->bhtk", x, np.array(part.kernel)) + np.array(part.bias)[:, None]
        for part in (own._query_dense, own._key_dense)
    )
    scores = np.einsum("bhtk,bhsk->bhts", query, key) / np.sqrt(query.shape[-1])
    there = np.tri(tokens.shape[1], dtype=bool) & np.array(inputs["padding_mask"])[:, None, None]
    expected = np.where(there, np.exp(scores - scores.max(-1, keepdims=True)), 0)
    expected /= expected.sum(-1, keepdims=True)
    first = hub_attention(task, inputs).decoder[:, 0]
    np.testing.assert_allclose(first, expected, rtol=1e-4, atol=1e-6)
    fused = type(backbone).from_config({**backbone.get_config(), "dropout": 0.0})
    fused.set_weights(backbone.get_weights())
    other = type(task)(backbone=fused, preprocessor=task.preprocessor)
    before = ops.convert_to_numpy(other(inputs))
    np.testing.assert_allclose(hub_attention(other, inputs).decoder[:, 0], expected, atol=1e-5)
    np.testing.assert_array_equal(ops.convert_to_numpy(other(inputs)), before)


def test_what_has_no_weights_is_refused(task_named, monkeypatch):
    task = task_named("llama")
    module = "keras_hub.src.models.llama.llama_attention.fused_attention_op_available"
    monkeypatch.setattr(module, lambda: True)
    with pytest.raises(
        ValueError, match=r"LlamaAttention .* whose attention is fused on tensorflow"
    ):
        hub_attention(task, inputs_of(task))
    monkeypatch.undo()
    other = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    other.backbone = keras.layers.Dense(2)
    with pytest.raises(ValueError, match=r"Received: Sequential, 0 layers"):
        hub_attention(other, {})


def explained(task, name, **choices):
    one_by_one = name == "t5"
    return hub_service(
        task, Beam(3, n_best=2), hub_tasks.LENGTH, one_by_one=one_by_one, attention=True, **choices
    )


@pytest.mark.systems
@pytest.mark.parametrize("name", rows(["gpt2", "bart", "t5"], {"t5"}, "slow"))
def test_explain_tells_what_each_piece_looked_at(name, task_named):
    task = task_named(name)
    service = explained(task, name)
    asked = tf.constant([*PROMPTS, b"\xff", "fox"])
    answer = {key: value.numpy() for key, value in service.explain(asked).items()}
    served = {key: value.numpy() for key, value in service.answer(asked).items()}
    np.testing.assert_array_equal(answer[TEXT], served[TEXT][:, :1])
    np.testing.assert_allclose(answer[SCORE], served[SCORE][:, :1], rtol=1e-5)
    assert served[TEXT].shape[1] == 2 and answer[ERROR][2] and not any(answer[ERROR][[0, 1, 3]])
    weights, pieces = answer[CROSS_WEIGHTS], answer[ANSWER_PIECES]
    np.testing.assert_allclose(answer[WEIGHTS], weights[:, -1].mean(axis=1), rtol=1e-5, atol=1e-6)
    assert not any(pieces[2]) and not weights[2].any()
    looking, seen = pieces != b"", answer[SOURCE_PIECES] != b""
    assert not weights.transpose(0, 3, 1, 2, 4)[~looking].any()
    assert not weights.transpose(0, 4, 1, 2, 3)[~seen].any()
    sums = weights.sum(axis=-1).transpose(0, 3, 1, 2)[looking]
    if name == "gpt2":  # The rest is on the answer before.
        assert np.all(sums <= 1 + 1e-5) and sums.min() < 0.9
        np.testing.assert_allclose(weights[[0, 1, 3], :, :, 0].sum(axis=-1), 1, rtol=1e-5)
    else:
        np.testing.assert_allclose(sums, 1, rtol=1e-5)
    joined = b"".join(answer[SOURCE_PIECES][0]).decode().replace("<s>", "").replace("</s>", "")
    assert joined.strip("▁") == "the▁quick"
    spelled = b"".join(pieces[0]).decode().replace("</s>", "").replace("▁", " ")
    assert answer[TEXT][0, 0].decode().endswith(spelled.strip())


@pytest.mark.slow
def test_explain_of_a_served_language_model(task_named, tmp_path, capsys):
    """By the command line, and through TensorFlow's C interface."""
    folder = tmp_path / "gpt2"
    service = explained(task_named("gpt2"), "gpt2")
    export_service(service, folder, "# GPT-2")
    figure = tmp_path / "figure.png"
    for more in ([], ["--heads", "cross"]):
        assert main(["explain", str(folder), PROMPTS[0], "--out", str(figure), *more]) == 0
        assert figure.stat().st_size > 1000
    asked = [text.encode() for text in PROMPTS]
    expected, model = service.explain(tf.constant(asked)), SavedSession(folder)
    answer = model.outputs("explain", {SOURCE: asked})
    model.close()
    for name, value in expected.items():
        if value.dtype == tf.string:
            np.testing.assert_array_equal(answer[name], value)
        else:
            np.testing.assert_allclose(answer[name], value, rtol=1e-4, atol=1e-5)
    bare = tmp_path / "bare"
    export_service(hub_service(task_named("gpt2"), Greedy(), 9), bare, "# GPT-2")
    capsys.readouterr()
    assert main(["explain", str(bare), PROMPTS[0], "--out", str(figure)]) == 2
    message = capsys.readouterr().err
    assert "declares none; export hub_service(..., attention=True) for them" in message


@pytest.mark.slow
def test_explain_of_a_model_that_reads_pictures(task_named, tmp_path, capsys):
    """With a prompt of its own, so that it is asked and drawn like a captioner."""
    service = explained(task_named("pali_gemma"), "pali_gemma", prompt="the fox")
    pixels = np.random.default_rng(3).integers(0, 256, (16, 16, 3)).astype("uint8")
    picture = tf.io.encode_png(pixels).numpy()
    answer = {k: v.numpy() for k, v in service.explain(tf.constant([picture, b"no"])).items()}
    assert answer[ERROR][1] and not any(answer[ANSWER_PIECES][1])
    grid, prompt = answer[CROSS_WEIGHTS][0], answer[PROMPT_WEIGHTS][0]
    assert grid.shape == (2, 4, hub_tasks.LENGTH, 4, 4)
    np.testing.assert_allclose(grid[:, :, 0].sum(axis=(-2, -1)) + prompt[:, :, 0].sum(-1), 1, 1e-5)
    np.testing.assert_allclose(answer[WEIGHTS][0], grid[-1].mean(axis=0), rtol=1e-5, atol=1e-6)
    folder, file = tmp_path / "paligemma", tmp_path / "photo.png"
    export_service(service, folder, "# PaliGemma")
    file.write_bytes(picture)
    model = load(folder)
    assert model.inputs_of("serving_default") == [IMAGE]
    (prediction,) = model.predict([file])
    assert prediction.text == answer[TEXT][0, 0].decode()
    figure = tmp_path / "figure.png"
    for more in ([], ["--heads", "cross"], ["--heads", "prompt"]):
        assert main(["explain", str(folder), str(file), "--out", str(figure), *more]) == 0
        assert figure.stat().st_size > 1000
    with pytest.raises(
        ValueError, match=r"fewer than max_length=17 tokens. Received: 'the fox the"
    ):
        explained(task_named("pali_gemma"), "pali_gemma", prompt="the fox " * 9)
    with pytest.raises(ValueError, match="Expected a prompt only for a model that reads pictures"):
        hub_service(task_named("gpt2"), Greedy(), 9, prompt="the fox")

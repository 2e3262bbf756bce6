"""Models of keras-hub under this package's search, in keras-hub's `generate` and served."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import ERROR, IMAGE, SCORE, SOURCE, TEXT
from keras_attn.decoding import (
    Beam,
    ForbiddenTokens,
    Greedy,
    HubSampler,
    MinimumLength,
    Sampling,
)
from keras_attn.decoding.hub_sampler import RESERVED
from keras_attn.saved.session import SavedSession
from keras_attn.serving import export_service, hub_service
from tests.backends import OTHERS
from tests.processes import run_module
from tests.quick import rows

keras_hub = pytest.importorskip("keras_hub", reason="keras-hub is not installed")
hub_tasks = pytest.importorskip("tests.serving.hub_tasks", reason="keras-hub is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
PROMPTS = ["the quick", "the quick fox ate", "fox"]
TASKS = sorted(hub_tasks.TASKS)


def inputs_of(task, count):
    if not hasattr(task.backbone, "image_sequence_length"):
        return {}
    size = (count, task.backbone.image_size, task.backbone.image_size, 3)
    return {"images": np.random.default_rng(5).integers(0, 256, size).astype("float32")}


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_greedy_answers_are_those_of_keras_hub(name, task_named):
    """Prompts differ in length; alone or together, the answers are the same."""
    task = task_named(name)
    inputs = inputs_of(task, len(PROMPTS))
    expected = hub_tasks.generated(task, "greedy", PROMPTS, **inputs)
    assert len(set(expected)) > 1
    assert hub_tasks.generated(task, HubSampler(Greedy()), PROMPTS, **inputs) == expected
    if inputs:
        return  # Prompts of a batch, if they are read in both directions, are of one length.
    beam = hub_tasks.generated(task, HubSampler(Beam(3)), PROMPTS, **inputs)
    for place, prompt in enumerate(PROMPTS):
        one = {key: value[place : place + 1] for key, value in inputs.items()}
        assert hub_tasks.generated(task, HubSampler(Beam(3)), [prompt], **one) == [beam[place]]


@pytest.mark.slow
@pytest.mark.parametrize("backend", OTHERS)
def test_greedy_answers_on_another_backend(backend):
    run_module("tests.serving.hub_tasks", backend=backend)


def test_scores_are_log_probabilities_of_the_model(task_named):
    task = task_named("gpt2")
    given = task.preprocessor.generate_preprocess(PROMPTS, sequence_length=hub_tasks.LENGTH)
    found = []

    def sample(next, prompt, cache, index, mask, stop_token_ids, **others):
        found.append(HubSampler(Beam(5, n_best=2)).search(next, prompt, cache, index, mask, [1]))
        return found[0].sequences[:, 0]

    task.compile(sampler=sample, run_eagerly=True)
    task.generate_step(given, stop_token_ids=[1])
    sequences, written = (np.array(part) for part in found[0][:2])
    assert written.any()
    for rank in range(2):
        tokens = sequences[:, rank]
        logits = task({"token_ids": tokens, "padding_mask": np.ones_like(tokens)})
        scores = keras.ops.log_softmax(logits, axis=-1)[:, :-1]
        each = np.take_along_axis(np.array(scores), tokens[:, 1:, None], axis=2)[..., 0]
        total = np.where(written[:, rank, 1:], each, 0.0).sum(axis=1)
        np.testing.assert_allclose(total, found[0].result.scores[:, rank], rtol=1e-4)


@pytest.mark.slow
def test_constraints_see_ids_after_the_reserved(task_named):
    task = task_named("gpt2")
    free = hub_tasks.generated(task, HubSampler(Greedy()), ["fox"])[0]
    often = max("thequickfox", key=free[3:].count)
    token = task.preprocessor.tokenizer.token_to_id(often) + RESERVED
    constraints = [ForbiddenTokens([token]), MinimumLength(9)]
    limited = hub_tasks.generated(task, HubSampler(Beam(3), constraints), ["fox"])[0]
    pieces = task.preprocessor.tokenizer(limited[3:])
    assert token - RESERVED not in np.array(pieces) and len(pieces) >= 8
    drawn = {hub_tasks.generated(task, HubSampler(Sampling(seed=n)), ["a"])[0] for n in range(3)}
    assert len(drawn) == 3


def service_of(task, **choices):
    return hub_service(task, Beam(3, n_best=2), hub_tasks.LENGTH, **choices)


@pytest.mark.systems
@pytest.mark.parametrize("name", rows(TASKS, {"gpt2"}, "slow"))
def test_a_served_model_answers_as_in_python(name, task_named, tmp_path):
    """Through TensorFlow's C interface, with malformed neighbors."""
    task = task_named(name)
    inputs = inputs_of(task, 1)
    expected = [
        hub_tasks.generated(
            task, HubSampler(Beam(3)), [text], **{key: 0 * value for key, value in inputs.items()}
        )[0]
        for text in PROMPTS
    ]
    service = service_of(task, one_by_one=name == "t5")
    model = SavedSession(export_service(service, tmp_path / "model", f"# {name}").parent)
    good = [text.encode() for text in PROMPTS]
    bad = [b"\xff\xfe", b"fox " * 99]
    columns = {SOURCE: [*good, *bad]}
    if inputs:
        black = tf.io.encode_png(np.zeros((16, 16, 3), "uint8")).numpy()
        columns[IMAGE] = [black] * len(good) + [black, b"no picture"]
    answers = model.outputs("serving_default", columns)
    assert [text.decode() for text in answers[TEXT][: len(good), 0]] == expected
    assert answers[TEXT].shape[1] == service.metadata()["n_best"] == 2
    assert np.all(answers[SCORE][: len(good)] < 0)
    assert not any(answers[ERROR][: len(good)]) and all(answers[ERROR][len(good) :])
    assert not any(answers[TEXT][len(good) :].ravel())
    model.close()


def test_answers_without_their_prompts(task_named):
    task = task_named("gpt2")
    whole, stripped = (
        service_of(task, strip_prompt=strip).answer(tf.constant(PROMPTS)) for strip in (0, 1)
    )
    for place, prompt in enumerate(PROMPTS):
        texts = [
            text.numpy().decode() for text in (whole[TEXT][place, 0], stripped[TEXT][place, 0])
        ]
        assert texts[0] == prompt + texts[1] and texts[1]
    empty = service_of(task).answer(tf.constant([""]))
    assert not empty[ERROR][0] and empty[TEXT][0, 0]  # It goes on from the start token.


class Spaces(keras_hub.tokenizers.Tokenizer):
    """A tokenizer in plain Python."""

    def tokenize(self, texts):
        return [[len(word) for word in text.split()] for text in texts]

    def detokenize(self, tokens):
        return [" ".join("a" * size for size in row) for row in tokens]


def test_what_cannot_be_served_is_refused(task_named):
    task = task_named("gpt2")
    with pytest.raises(ValueError, match="Expected a task of keras-hub that generates text"):
        hub_service(keras.Sequential(), Greedy(), 9)
    with pytest.raises(ValueError, match=r"Expected a task of keras-hub .* Received: GPT2Backbone"):
        hub_service(task.backbone, Greedy(), 9)
    bare = type(task)(backbone=task.backbone, preprocessor=None)
    with pytest.raises(ValueError, match="with its preprocessor and tokenizer"):
        hub_service(bare, Greedy(), 9)
    with pytest.raises(
        ValueError,
        match=r"Expected a tokenizer that runs in a graph .* a Spaces, which fails there",
    ):
        preprocessor = type(task.preprocessor)(tokenizer=Spaces(), sequence_length=9)
        hub_service(type(task)(backbone=task.backbone, preprocessor=preprocessor), Greedy(), 9)
    with pytest.raises(ValueError, match=r"Expected max_length and .* <= 19.* Received: 20 and 0"):
        hub_service(task, Greedy(), 20)
    with pytest.raises(ValueError, match="Expected alpha=0 for a model that goes on from prompts"):
        hub_service(task, Beam(2, 0.6), 9)
    with pytest.raises(ValueError, match="Expected a strategy of keras_attn"):
        HubSampler("greedy")

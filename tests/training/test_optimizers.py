"""The optimizers against slow twins and Keras: the clip, the slow layer, matrices."""

import contextlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.muon import ClippedMuon, orthogonalized
from keras_attn.training.optimizers import ClippedAdam, ClippedSGD, paper_adam
from keras_attn_pipelines.experiment import Adam, Cosine


def test_clip_scales_the_whole_gradient():
    variables = [keras.Variable(np.zeros(3)), keras.Variable(np.zeros(2))]
    optimizer = ClippedAdam(1.0, clip_norm=1.0)
    optimizer.build(variables)
    gradients = [tf.constant([3.0, 0, 0]), tf.constant([0.0, 4.0])]
    pairs = optimizer._all_reduce_sum_gradients(list(zip(gradients, variables)))
    np.testing.assert_allclose(pairs[0][0], [0.6, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(pairs[1][0], [0, 0.8], rtol=1e-6)


def test_clip_adds_rows_of_an_embedding_that_was_read_twice():
    table = keras.Variable(np.zeros((3, 1)))
    optimizer = ClippedAdam(1.0, clip_norm=1.0)
    optimizer.build([table])
    rows = tf.IndexedSlices(tf.constant([[1.5], [4.0], [1.5]]), tf.constant([2, 0, 2]), [3, 1])
    ((gradient, _),) = optimizer._all_reduce_sum_gradients([(rows, table)])
    np.testing.assert_allclose(gradient[:, 0], [0.8, 0, 0.6], rtol=1e-6)


@pytest.mark.parametrize("clip_norm", [None, 0.1])
@pytest.mark.parametrize("options", [{}, {"amsgrad": True}, {"slow_layer": "table"}])
def test_rows_that_were_read_twice_are_added_before_they_are_squared(clip_norm, options):
    rows = tf.IndexedSlices(tf.constant([[1.5], [4.0], [1.5]]), tf.constant([2, 0, 2]), [3, 1])
    ended = []
    for gradient in (rows, tf.constant([[4.0], [0.0], [3.0]])):
        table = keras.Variable(np.zeros((3, 1)), name="table")
        optimizer = ClippedAdam(0.1, clip_norm=clip_norm, epsilon=1e-2, **options)
        optimizer.build([table])
        for _ in range(2):
            optimizer.apply([gradient], [table])
        ended.append([np.array(value) for value in (table, *optimizer.variables[2:])])
    for one, other in zip(*ended, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def adam(start, gradients, rates, decay=0.999):
    """Where Adam takes a vector, in float64; a rate of 0 stands for a step before its first."""
    value, first, second, count = np.array(start, "float64"), 0.0, 0.0, 0
    for gradient, rate in zip(gradients, rates):
        if rate == 0:
            continue
        count += 1
        first = 0.9 * first + 0.1 * gradient
        second = decay * second + (1 - decay) * gradient**2
        mean, square = first / (1 - 0.9**count), second / (1 - decay**count)
        value = value - rate * mean / (np.sqrt(square) + 1e-12)
    return value


def test_weight_decay_leaves_slow_layers_alone():
    usual, slow = (keras.Variable(np.ones(3), name=name) for name in ("head", "body"))
    optimizer = ClippedAdam(0.5, slow_layer="body", slow_rate=0.1, weight_decay=0.2)
    optimizer.build([usual, slow])
    for _ in range(2):
        optimizer.apply_gradients([(tf.zeros(3), usual), (tf.zeros(3), slow)])
    np.testing.assert_allclose(usual, [0.9**2] * 3, rtol=1e-6)
    np.testing.assert_array_equal(slow, [1] * 3)


@pytest.mark.parametrize("steps", [1, 17, 1700])
def test_normalized_weight_decay(steps):
    optimizer = Adam(learning_rate=0.03, schedule=Cosine(warmup_steps=0), weight_decay=0.25).build(
        steps
    )
    assert float(optimizer.weight_decay) * 0.03 == pytest.approx(0.25 / steps**0.5)
    assert Adam().build(steps).weight_decay is None


@pytest.mark.parametrize("absent", [True, False])
@pytest.mark.parametrize("names", ["body", ("arm", "body")])
def test_the_slow_layer_is_an_adam_that_starts_later(absent, names):
    random = np.random.default_rng(0)
    gradients = random.normal(size=(7, 2, 3)).astype("float32")
    start = random.normal(size=(2, 3)).astype("float32")
    usual, slow = (keras.Variable(value, name=name) for value, name in zip(start, ("head", "body")))
    optimizer = ClippedAdam(0.1, slow_layer=names, slow_rate=0.25, slow_from=4, epsilon=1e-12)
    optimizer.build([usual, slow])
    for step, (usual_gradient, slow_gradient) in enumerate(gradients):
        late = None if absent and step < 4 else tf.constant(slow_gradient)
        optimizer.apply_gradients([(tf.constant(usual_gradient), usual), (late, slow)])
    expected = adam(start[0], gradients[:, 0], [0.1] * 7)
    np.testing.assert_allclose(usual, expected, rtol=1e-5)
    expected = adam(start[1], gradients[:, 1], [0] * 4 + [0.025] * 3)
    np.testing.assert_allclose(slow, expected, rtol=1e-4)
    assert int(optimizer.iterations) == 7


def test_the_papers_adam():
    random = np.random.default_rng(1)
    gradients, start = random.normal(size=(7, 3)).astype("float32"), random.normal(size=3)
    variable = keras.Variable(start)
    optimizer = paper_adam(hidden_dim=5, warmup_steps=3)
    optimizer.build([variable])
    for gradient in gradients:
        optimizer.apply_gradients([(tf.constant(gradient), variable)])
    rates = [5**-0.5 * min(n**-0.5, n * 3**-1.5) for n in range(1, 8)]
    np.testing.assert_allclose(variable, adam(start, gradients, rates, 0.98), rtol=1e-5)
    assert optimizer.epsilon == 1e-9 and optimizer.clip_norm is None
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert again.get_config() == optimizer.get_config()


@pytest.mark.parametrize("options", [{}, {"amsgrad": True}])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sparse", [False, True])
def test_equals_adam_of_keras(options, dtype, sparse):
    random = np.random.default_rng(2)
    start, gradients = random.normal(size=(3, 2)), random.normal(size=(5, 2, 2))
    ended = []
    for kind in (ClippedAdam, keras.optimizers.Adam):
        variable = keras.Variable(start, dtype=dtype)
        optimizer = kind(0.1, beta_2=0.9, epsilon=1e-3, **options)
        optimizer.build([variable])
        for own in gradients:
            gradient = tf.IndexedSlices(tf.constant(own, dtype), tf.constant([0, 2]), [3, 2])
            gradient = gradient if sparse else tf.convert_to_tensor(gradient)
            optimizer.apply([gradient], [variable])
        ended.append([variable, *optimizer.variables])
    for value, expected in zip(*ended):
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)


def test_other_layers_without_gradients_are_still_a_mistake():
    usual, other = keras.Variable(np.zeros(3)), keras.Variable(np.zeros(2), name="neck")
    optimizer = ClippedAdam(0.1, slow_layer="body")
    optimizer.build([usual, other])
    with pytest.warns(UserWarning, match="Gradients do not exist"):
        optimizer.apply_gradients([(tf.ones(3), usual), (None, other)])


def test_config():
    optimizer = ClippedAdam(0.1, 3.0, slow_layer="body", slow_rate=0.5, slow_from=7)
    again = ClippedAdam.from_config(optimizer.get_config())
    assert (again.clip_norm, again.slow_layer) == (3.0, "body")
    assert (again.slow_rate, again.slow_from) == (0.5, 7)


def test_sgd_clips_and_moves_against_the_gradient():
    weights = [keras.Variable(value) for value in ([1.0, 2.0], [5.0])]
    optimizer = ClippedSGD(0.5, clip_norm=1.0)
    optimizer.apply_gradients(zip([tf.constant([3.0, 0.0]), tf.constant([4.0])], weights))
    np.testing.assert_allclose(weights[0], [1 - 0.5 * 0.6, 2.0], rtol=1e-6)
    np.testing.assert_allclose(weights[1], [5 - 0.5 * 0.8], rtol=1e-6)
    optimizer.apply_gradients(zip([tf.constant([0.3, 0.0]), tf.constant([0.4])], weights))
    np.testing.assert_allclose(weights[1], [5 - 0.5 * 1.2], rtol=1e-6)
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert isinstance(again, ClippedSGD) and again.clip_norm == 1.0


def ended(optimizer, start, gradients):
    """Where an optimizer takes variables with values of a dict by path."""
    variables = []
    for path, value in start.items():
        *layers, name = path.split("/")
        with contextlib.ExitStack() as scopes:
            for layer in layers:
                scopes.enter_context(keras.name_scope(layer))
            variables.append(keras.Variable(value, name=name))
    optimizer.build(variables)
    for step in gradients:
        optimizer.apply([tf.constant(step[path]) for path in start], variables)
    return dict(zip(start, map(np.array, variables)))


def drawn(shapes, steps=4):
    """Start, and gradients of some steps, by path."""
    random = np.random.default_rng(3)
    each = [
        {path: random.normal(size=shape).astype("float32") for path, shape in shapes.items()}
        for _ in range(steps + 1)
    ]
    return each[0], each[1:]


def test_equals_muon_of_keras():
    work = drawn({"wide/kernel": (3, 7), "tall/kernel": (11, 5), "wide/bias": (7,)})
    options = {"momentum": 0.9, "weight_decay": None}
    theirs = keras.optimizers.Muon(0.03, adam_lr_ratio=0.5, adam_weight_decay=None, **options)
    expected = ended(theirs, *work)
    actual = ended(ClippedMuon(0.015, matrix_rate=2.0, **options), *work)
    for path, value in expected.items():
        np.testing.assert_allclose(actual[path], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [ClippedAdam, ClippedMuon])
def test_gradients_of_two_steps_add_up_to_their_mean(kind):
    start, gradients = drawn({"wide/kernel": (3, 7), "wide/bias": (7,)})
    means = [
        {path: (first[path] + second[path]) / 2 for path in start}
        for first, second in (gradients[:2], gradients[2:])
    ]
    expected = ended(kind(0.1, clip_norm=1.0), start, means)
    actual = ended(kind(0.1, clip_norm=1.0, gradient_accumulation_steps=2), start, gradients)
    for path, value in expected.items():
        np.testing.assert_allclose(actual[path], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("path", "shape", "matrix"),
    [
        ("attention/query_kernel", (5, 2, 7), (5, 14)),
        ("attention/output_kernel", (2, 7, 5), (14, 5)),
        ("attention/query/kernel", (5, 2, 7), (5, 14)),
        ("attention/attention_output/kernel", (2, 7, 5), (14, 5)),
        ("convolution/kernel", (3, 5, 7), (15, 7)),
        ("patches/kernel", (3, 3, 2, 5), (18, 5)),
        ("cell/recurrent_kernel", (3, 11), (3, 11)),
    ],
)
def test_kernels_of_more_axes_are_matrices(path, shape, matrix):
    start, gradients = drawn({path: shape})
    actual = ended(ClippedMuon(0.1), start, gradients)
    flat = [{"kernel": step[path].reshape(matrix)} for step in gradients]
    whole = {"kernel": start[path].reshape(matrix)}
    expected = ended(ClippedMuon(0.1), whole, flat)["kernel"]
    np.testing.assert_allclose(actual[path].reshape(matrix), expected, rtol=1e-5, atol=1e-6)


def test_other_weights_are_adams():
    shapes = {
        "words/table": (5, 3),
        "logits/kernel": (3, 5),
        "body/kernel": (3, 3),
        "scale/gamma": (3,),
        "gate/kernel": (7, 1),
        "separable/depthwise_kernel": (3, 3, 2, 2),
        "attention/query_kernel_lora_a": (7, 2),
    }
    paths = list(shapes)
    options = {"slow_layer": "body", "slow_rate": 0.5}
    actual = ended(ClippedMuon(0.1, matrix_rate=9.0, **options), *drawn(shapes))
    expected = ended(ClippedAdam(0.1, **options), *drawn(shapes))
    for path in paths:
        np.testing.assert_array_equal(actual[path], expected[path])
    named = ended(ClippedMuon(0.1, exclude_layers="body"), *drawn(shapes))
    np.testing.assert_array_equal(
        named["body/kernel"], ended(ClippedAdam(0.1), *drawn(shapes))["body/kernel"]
    )
    assert (named["logits/kernel"] != expected["logits/kernel"]).all()


@pytest.mark.parametrize("shape", [(7, 13), (13, 7), (5, 5)])
def test_orthogonalized_keeps_directions_and_makes_them_alike(shape):
    matrix = np.random.default_rng(4).normal(size=shape).astype("float32")
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    inner = left.T @ np.array(orthogonalized(tf.constant(matrix))) @ right.T
    values = np.diag(inner)
    np.testing.assert_allclose(inner, np.diag(values), atol=1e-4)
    assert values.min() > 0.6 and values.max() < 1.3
    assert not np.array(orthogonalized(tf.zeros(shape))).any()


def test_a_part_asks_for_muon():
    optimizer = Adam(muon=3.0, slow_rate=0.5).build(17, ["body"])
    assert isinstance(optimizer, ClippedMuon) and optimizer.matrix_rate == 3.0
    assert (optimizer.slow_layer, optimizer.slow_rate) == (["body"], 0.5)
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert again.get_config() == optimizer.get_config()
    assert not isinstance(Adam().build(17), ClippedMuon)
    with pytest.raises(ValueError, match=r"Expected muon=0 with lora\. Received: muon=3, lora=8"):
        Adam(muon=3.0, lora=8)


def test_bad_arguments():
    with pytest.raises(ValueError, match="matrix_rate=0"):
        ClippedMuon(matrix_rate=0)
    with pytest.raises(ValueError, match="momentum=1"):
        ClippedMuon(momentum=1)
    with pytest.raises(ValueError, match="clip_norm=0"):
        ClippedAdam(clip_norm=0)
    with pytest.raises(ValueError, match="clip_norm=-1"):
        ClippedSGD(clip_norm=-1)
    with pytest.raises(ValueError, match="slow_rate=0"):
        ClippedAdam(slow_rate=0)
    with pytest.raises(ValueError, match="slow_from=-1"):
        ClippedAdam(slow_from=-1)

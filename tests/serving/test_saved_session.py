"""SavedModels in a session: their answers, their errors, and what is left out at the start."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, saved_model_pb2

import keras_attn
from benchmarks import start_up
from benchmarks.processes import resident
from keras_attn.contracts import ERROR, SOURCE, TARGET, TEXT
from keras_attn.saved import c_session
from keras_attn.saved.c_session import CSession, NoLibraryError
from keras_attn.saved.python_session import PythonSession
from keras_attn.saved.session import SavedSession, session_config
from keras_attn.serving.export import export_service
from tests.processes import run_module
from tests.serving.tiny_service import picture
from tests.serving.tiny_text_service import text_service

pytestmark = pytest.mark.systems

STORED = "variables/variables."
ROOT = Path(__file__).resolve().parents[2]
SENTENCES = np.array([b"one two", b"", b"two"], object)
SOURCES = [b"one two three", b"", "five ☂".encode(), b"\xff one", b"seven"]


def same(outputs, expected):
    assert sorted(outputs) == sorted(expected)
    for key, value in expected.items():
        assert outputs[key].shape == value.shape and outputs[key].dtype == value.dtype, key
        if value.dtype == np.float32:
            np.testing.assert_allclose(outputs[key], value, atol=1e-4, err_msg=key)
        else:
            np.testing.assert_array_equal(outputs[key], value, err_msg=key)


def in_tensorflow(version, signature, columns):
    """The answers of `tf.saved_model.load`."""
    function = tf.saved_model.load(str(version)).signatures[signature]
    answer = function(**{key: tf.constant(rows) for key, rows in columns.items()})
    return {key: value.numpy() for key, value in answer.items()}


def test_the_bundled_captioner_answers_as_in_tensorflow():
    pictures = [picture(1, (64, 48), "JPEG"), b"no picture", picture(2, (48, 64))]
    version = ROOT / "saved_models" / "flickr8k_captioner" / "1"
    answer = keras_attn.load(version).outputs("serving_default", {"image": pictures})
    same(answer, in_tensorflow(version, "serving_default", {"image": pictures}))
    assert [bool(reason) for reason in answer[ERROR]] == [False, True, False]


@pytest.mark.parametrize("signature", ["serving_default", "explain", "score"])
def test_a_text_model_answers_alike_by_every_road(c_translator, translator_in_python, signature):
    columns = {SOURCE: SOURCES}
    if signature == "score":
        columns[TARGET] = [b"eins", b"eins", b"zwei", b"eins", b"zwei " * 30]
    answer = c_translator.outputs(signature, columns)
    same(answer, translator_in_python.outputs(signature, columns))
    same(answer, in_tensorflow(c_translator.folder, signature, columns))
    assert c_translator.inputs_of(signature) == translator_in_python.inputs_of(signature)


def test_roads(c_translator, translator_in_python):
    assert type(c_translator._session) is CSession
    assert type(translator_in_python._session._session) is PythonSession
    assert c_translator.version == translator_in_python.version == "1"
    assert c_translator.signature_shapes() == translator_in_python.signature_shapes()


@pytest.mark.parametrize(
    "lost",
    ["saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"],
)
@pytest.mark.parametrize("what", ["missing", "empty", "cut"])
def test_a_damaged_model_is_refused(tiny_text_export, tmp_path, lost, what):
    version = shutil.copytree(tiny_text_export, tmp_path / "1")
    file = version / lost
    size = file.stat().st_size
    file.unlink()
    if what != "missing":
        file.write_bytes((tiny_text_export / lost).read_bytes()[: size // 2 * (what == "cut")])
    with pytest.raises(ValueError, match=r"Expected a SavedModel.* Received: "):
        SavedSession(version)


@pytest.mark.parametrize("order", [pytest.param("first", marks=pytest.mark.slow), "last"])
def test_tensorflow_may_come_first_or_last(tiny_text_export, order):
    run_module("tests.serving.one_process", tiny_text_export, order)


PHOTOGRAPH = "rocket.jpg"
COMMANDS = [
    ["predict", "flickr8k_captioner", PHOTOGRAPH],
    ["explain", "flickr8k_captioner", PHOTOGRAPH, "--out", "a.png", "--heads", "cross"],
    ["explain", "flickr8k_captioner", PHOTOGRAPH, "--out", "a.html"],
    ["score", "flickr8k_captioner", "--image", PHOTOGRAPH, "--caption", "a dog"],
]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_answer_without_tensorflows_python(command, tmp_path):
    program = f"""
import sys
from keras_attn_pipelines.cli import main
code = main({[*command]!r})
sys.exit(code or str([name for name in ("keras", "tensorflow") if name in sys.modules]))
"""
    image = picture(2, (48, 64), "JPEG")
    (tmp_path / PHOTOGRAPH).write_bytes(image)
    (tmp_path / "flickr8k_captioner").symlink_to(ROOT / "saved_models" / "flickr8k_captioner")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'pipelines'}"}
    given = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", program], **given)
    assert done.stderr.splitlines()[-1] == "[]", done.stderr[-2000:]


STRINGS = np.array([b"one"], object)


@pytest.mark.parametrize(
    ("signature", "columns", "message"),
    [
        ("none", {SOURCE: STRINGS}, "with a signature 'none'. Received: .*explain, "),
        ("serving_default", {}, r"Expected inputs \['source'\]. Received: \[\]"),
        ("serving_default", {"image": STRINGS}, r"Received: \['image'\]"),
        ("serving_default", {SOURCE: STRINGS, "image": STRINGS}, "Received: .*'image', 'source'"),
        (
            "serving_default",
            {SOURCE: np.zeros(1, "float32")},
            "Expected source of type DT_STRING. Received: float32",
        ),
        (
            "serving_default",
            {SOURCE: np.zeros(1, "datetime64[s]")},
            "Expected numbers or bytes. Received: datetime64",
        ),
        ("serving_default", {SOURCE: np.array([None])}, "Expected bytes in an array of objects"),
        (
            "serving_default",
            {SOURCE: STRINGS[None]},
            r"Expected source of shape \(None,\). Received: \(1, 1\)",
        ),
        ("serving_default", {SOURCE: STRINGS[0:1].reshape(())}, r"Received: \(\)"),
        ("score", {SOURCE: STRINGS, TARGET: np.array([b"a", b"b"], object)}, r"."),
    ],
)
def test_requests_that_are_refused(c_translator, translator_in_python, signature, columns, message):
    with pytest.raises(ValueError, match=message):
        c_translator.outputs(signature, columns)
    with pytest.raises(ValueError, match=r"."):
        translator_in_python.outputs(signature, columns)


def test_an_empty_batch(c_translator, translator_in_python):
    for rows in ([], np.zeros(0, object)):
        for model in (c_translator, translator_in_python):
            assert model.outputs("serving_default", {SOURCE: rows})[TEXT].shape[0] == 0


def test_no_saved_model(tmp_path):
    with pytest.raises(ValueError, match="Expected a SavedModel or numbered versions of one"):
        SavedSession(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"\xff" * 9)
    with pytest.raises(ValueError, match=r"Expected a SavedModel in .* Received: damaged files"):
        SavedSession(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(bytes([18, 0]))  # One graph, empty.
    with pytest.raises(
        ValueError, match=r"Expected a SavedModel in .* Received: damaged files \(Could not"
    ):
        SavedSession(tmp_path)


def test_no_library(tmp_path, monkeypatch):
    ops = tmp_path / "tensorflow_text" / "python" / "ops"
    ops.mkdir(parents=True)
    (ops / "_none.so").write_bytes(b"none")
    package = c_session._package
    folders = {"tensorflow_text": tmp_path / "tensorflow_text"}
    monkeypatch.setattr(c_session, "_package", lambda name: folders.get(name) or package(name))
    with pytest.raises(NoLibraryError, match=r"_none\.so"):
        CSession.of_saved_model(tmp_path)
    folders["tensorflow"] = tmp_path
    with pytest.raises(NoLibraryError, match=r"cannot open"):
        c_session.c_functions.__wrapped__()
    monkeypatch.setattr(c_session, "_package", package)
    monkeypatch.setattr(c_session.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(NoLibraryError, match=r"no package tensorflow"):
        CSession.of_saved_model(tmp_path)


@pytest.mark.slow
def test_memory_is_flat(c_translator):
    """Requests of 0.6 MB leave nothing behind; all of them would leave 90 MB."""
    columns = {SOURCE: [b"one two", b"\xff" * 600_000]}
    for _ in range(10):
        c_translator.outputs("explain", columns)
    before = resident()
    for _ in range(150):
        c_translator.outputs("explain", columns)
    assert resident() - before < 40


@pytest.mark.parametrize(
    "road", ["c_translator", pytest.param("translator_in_python", marks=pytest.mark.slow)]
)
def test_threads_ask_at_the_same_time(road, request):
    model = request.getfixturevalue(road)

    def ask(place):
        return model.outputs("serving_default", {"source": SENTENCES[place % 3 :]})

    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(ask, range(640)))
    alone = model.outputs("serving_default", {"source": SENTENCES})["text"]
    for place, answer in enumerate(answers):
        np.testing.assert_array_equal(answer["text"], alone[place % 3 :])


def test_threads_and_what_is_left_out_are_set():
    config = config_pb2.ConfigProto.FromString(session_config())
    assert config.allow_soft_placement and config.gpu_options.allow_growth
    assert config.graph_options.rewrite_options.disable_meta_optimizer
    threads = tf.config.threading.get_intra_op_parallelism_threads()
    assert config.intra_op_parallelism_threads == threads


@pytest.mark.slow
def test_exported_functions_ask_not_to_be_rewritten(tmp_path):
    before = tf.config.optimizer.get_experimental_options()
    version = export_service(text_service(), tmp_path / "tiny", "card")
    after = tf.config.optimizer.get_experimental_options()
    key = "disable_meta_optimizer"
    assert after.get(key, False) == before.get(key, False)
    content = (version / "saved_model.pb").read_bytes()
    (graph,) = saved_model_pb2.SavedModel.FromString(content).meta_graphs
    nodes = [*graph.graph_def.node]
    nodes += [node for function in graph.graph_def.library.function for node in function.node_def]
    calls = [node for node in nodes if node.attr["config_proto"].s]
    assert len(calls) > 5
    for node in calls:
        options = config_pb2.ConfigProto.FromString(node.attr["config_proto"].s).graph_options
        assert options.rewrite_options.disable_meta_optimizer, node.name


@pytest.mark.slow
def test_the_benchmark_has_a_row_for_each_road(tiny_text_export, monkeypatch):
    monkeypatch.setattr(start_up, "in_its_own_process", lambda work, *given: work(*given))
    table = start_up.compare([tiny_text_export], 1)
    assert [line.split(" | ")[2] for line in table.splitlines()[2:]] == list(start_up.ROADS)

"""SavedModels, three loaders without our package, the same answers, a bad item among them."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import CAPTION, ERROR, IMAGE, SCORE, SOURCE, TARGET, TEXT, TOKEN_SCORES
from tests.serving.tiny_service import PICTURES

pytestmark = pytest.mark.systems

C_API = Path(__file__).with_name("c_api.py")
CAPTIONS = ["a red dog", "dogs ☂", "dogs", "a " * 20, "dogs"]
SOURCES = [b"one two three", b"", "five ☂".encode(), b"\xff one"]
TARGETS = ["eins zwei", "eins", "zwei " * 30, "eins"]


class Request(NamedTuple):
    """What is asked of which export.

    Attributes:
        model: "caption" or "text".
        signature: of the export.
        method: of the service, which answers the same.
        inputs: dict of lists of bytes.
        fetches: outputs to be compared.
        faulty: which items have an error.
    """

    model: str
    signature: str
    method: str
    inputs: dict[str, list[bytes]]
    fetches: tuple[str, ...]
    faulty: list[bool]


def encoded(texts):
    return [text.encode() for text in texts]


PICTURE, PAIR = {IMAGE: PICTURES}, {SOURCE: SOURCES, TARGET: encoded(TARGETS)}
BAD_PICTURES, BAD_TEXTS = [False, False, True, False, True], [False, True, False, True]
ANSWERS, SCORES = (TEXT, SCORE, ERROR), (SCORE, TOKEN_SCORES, ERROR)
REQUESTS = {
    request.model + " " + request.signature: request
    for request in (
        Request("caption", "serving_default", "answer", PICTURE, ANSWERS, BAD_PICTURES),
        Request("caption", "explain", "explain", PICTURE, (*ANSWERS, TOKEN_SCORES), BAD_PICTURES),
        Request(
            "caption",
            "score",
            "score",
            {**PICTURE, CAPTION: encoded(CAPTIONS)},
            SCORES,
            [False, False, True, True, True],
        ),
        Request("text", "serving_default", "answer", {SOURCE: SOURCES}, ANSWERS, BAD_TEXTS),
        Request("text", "score", "score", PAIR, SCORES, [False, True, True, True]),
        Request(
            "text",
            "attention",
            "attention",
            {SOURCE: SOURCES},
            (TEXT, ERROR, "cross_weights"),
            BAD_TEXTS,
        ),
    )
}
LOAD = """
import sys, numpy as np, tensorflow as tf, tensorflow_text
version, signature, inputs, out = sys.argv[1:]
loaded = tf.saved_model.load(version).signatures[signature]
inputs = np.load(inputs, allow_pickle=True)
for key, value in loaded(**{key: tf.constant(inputs[key].tolist()) for key in inputs}).items():
    np.save(f"{out}/{key}.npy", value.numpy())
assert not [name for name in sys.modules if name.startswith("keras_attn")]
"""
CLI = """
import sys, tensorflow_text
from tensorflow.python.tools.saved_model_cli import main
sys.exit(main())
"""


def run(command, folder, text=None):
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-P", *command],
        cwd=folder,
        env=kept,
        input=text,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def by_files(request, folder, command):
    """Answers of a process that reads an .npz file and writes .npy files."""
    arrays = {key: np.array(value, object) for key, value in request.inputs.items()}
    np.savez(folder / "inputs.npz", **arrays)
    run(command, folder)
    outputs = {key: np.load(folder / f"{key}.npy", allow_pickle=True) for key in request.fetches}
    return {key: value.ravel().tolist() for key, value in outputs.items()}


def by_load(version, request, folder):
    command = ["-c", LOAD, str(version), request.signature, "inputs.npz", "."]
    return by_files(request, folder, command)


def by_command_line(version, request, folder):
    keys = ";".join(f"{key}=inputs.npz[{key}]" for key in request.inputs)
    command = ["run", "--dir", str(version), "--tag_set", "serve", "--inputs", keys]
    command += ["--signature_def", request.signature, "--outdir", ".", "--overwrite"]
    return by_files(request, folder, ["-c", CLI, *command])


def by_c_interface(version, requests, folder):
    """Answers by name of each request, of one process."""
    asked = {"version": str(version), "requests": {}}
    for name, request in requests.items():
        inputs = {
            key: [base64.b64encode(data).decode() for data in value]
            for key, value in request.inputs.items()
        }
        asked["requests"][name] = {"signature": request.signature, "inputs": inputs}
    answers = json.loads(run([str(C_API)], folder, json.dumps(asked)))
    return {name: decoded(answers[name], request) for name, request in requests.items()}


def decoded(answer, request):
    return {
        key: [base64.b64decode(v) if isinstance(v, str) else v for v in answer[key]]
        for key in request.fetches
    }


CASES = [
    (by_load, "caption score"),
    (by_command_line, "caption serving_default"),
    pytest.param(by_command_line, "text serving_default", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module")
def models(tiny_service, tiny_export, tiny_text_service, tiny_text_export):
    """Service and export of each kind."""
    return {"caption": (tiny_service, tiny_export), "text": (tiny_text_service, tiny_text_export)}


@pytest.fixture(scope="module")
def by_c(models, tmp_path_factory):
    """The C interface's answers to all requests, by name."""
    answers = {}
    for kind, (_, version) in models.items():
        own = {name: value for name, value in REQUESTS.items() if value.model == kind}
        answers |= by_c_interface(version, own, tmp_path_factory.mktemp("c"))
    return answers


@pytest.mark.parametrize("name", REQUESTS)
def test_c_interface(models, by_c, name):
    check(models, REQUESTS[name], by_c[name])


@pytest.mark.parametrize(("loader", "name"), CASES)
def test_loaders(models, tmp_path, loader, name):
    request = REQUESTS[name]
    check(models, request, loader(models[request.model][1], request, tmp_path))


def check(models, request, answer):
    """The service's own answers."""
    inputs = {key: tf.constant(value) for key, value in request.inputs.items()}
    expected = getattr(models[request.model][0], request.method)(*inputs.values())
    assert sorted(answer) == sorted(request.fetches)
    assert [bool(error) for error in answer[ERROR]] == request.faulty
    for key, values in answer.items():
        values, wanted = np.array(values), expected[key].numpy().ravel()
        if key in (TEXT, ERROR):
            assert values.tolist() == wanted.tolist(), key
        else:
            np.testing.assert_allclose(values, wanted, atol=1e-5, err_msg=key)

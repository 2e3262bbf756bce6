"""One SavedModel, three loaders without our package, the same answers, a bad item among them."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text
from tensorflow.core.protobuf import saved_model_pb2

from keras_attn.contracts import CAPTION, ERROR, IMAGE, SCORE, TEXT, TOKEN_SCORES
from tests.serving.tiny_service import PICTURES

C_API = Path(__file__).with_name("c_api.py")
OPERATIONS = Path(tensorflow_text.__file__).parent / "python" / "ops"
LIBRARIES = [
    str(OPERATIONS / name) for name in ("_sentencepiece_tokenizer.so", "_normalize_ops.so")
]
CAPTIONS = ["a red dog", "dogs ☂", "dogs", "a " * 20, "dogs"]
FETCHES = {
    "serving_default": (TEXT, SCORE, ERROR),
    "explain": (TEXT, SCORE, ERROR, TOKEN_SCORES),
    "score": (SCORE, TOKEN_SCORES, ERROR),
}
LOAD = """
import sys, numpy as np, tensorflow as tf, tensorflow_text
version, signature, inputs, out = sys.argv[1:]
loaded = tf.saved_model.load(version).signatures[signature]
inputs = np.load(inputs, allow_pickle=True)
for key, value in loaded(**{key: tf.constant(inputs[key].tolist()) for key in inputs}).items():
    np.save(f"{out}/{key}.npy", value.numpy())
assert not [name for name in sys.modules if name.split(".")[0] in ("keras_attn", "pipelines")]
"""
CLI = """
import sys, tensorflow_text
from tensorflow.python.tools.saved_model_cli import main
sys.exit(main())
"""


def inputs_of(signature):
    inputs = {IMAGE: PICTURES}
    if signature == "score":
        inputs[CAPTION] = [caption.encode() for caption in CAPTIONS]
    return inputs


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


def by_files(version, signature, folder, command):
    """Answers of a process that reads an .npz file and writes .npy files."""
    arrays = {key: np.array(value, object) for key, value in inputs_of(signature).items()}
    np.savez(folder / "inputs.npz", **arrays)
    run(command, folder)
    found = {key: np.load(folder / f"{key}.npy", allow_pickle=True) for key in FETCHES[signature]}
    return {key: value.ravel().tolist() for key, value in found.items()}


def by_load(version, signature, folder):
    command = ["-c", LOAD, str(version), signature, "inputs.npz", "."]
    return by_files(version, signature, folder, command)


def by_command_line(version, signature, folder):
    keys = [f"{key}=inputs.npz[{key}]" for key in inputs_of(signature)]
    command = ["run", "--dir", str(version), "--tag_set", "serve", "--signature_def", signature]
    command += ["--inputs", ";".join(keys), "--outdir", ".", "--overwrite"]
    return by_files(version, signature, folder, ["-c", CLI, *command])


def by_c_interface(version, signature, folder):
    proto = saved_model_pb2.SavedModel()
    proto.ParseFromString((version / "saved_model.pb").read_bytes())
    named = proto.meta_graphs[0].signature_def[signature]
    feeds = {
        named.inputs[key].name: [base64.b64encode(one).decode() for one in value]
        for key, value in inputs_of(signature).items()
    }
    fetches = {key: named.outputs[key].name for key in FETCHES[signature]}
    asked = {"version": str(version), "libraries": LIBRARIES, "feeds": feeds, "fetches": fetches}
    answer = json.loads(run([str(C_API)], folder, json.dumps(asked)))
    return {
        key: [base64.b64decode(one) if isinstance(one, str) else one for one in row]
        for key, row in answer.items()
    }


CASES = [(loader, name) for loader in (by_load, by_command_line) for name in FETCHES]
CASES = [case for case in CASES if case[1] != "explain"]
CASES += [(by_c_interface, name) for name in FETCHES]


@pytest.mark.parametrize(("loader", "signature"), CASES)
def test_all_loaders_agree(tiny_service, tiny_export, tmp_path, loader, signature):
    name = "caption" if signature == "serving_default" else signature
    inputs = {key: tf.constant(value) for key, value in inputs_of(signature).items()}
    expected = getattr(tiny_service, name)(**inputs)
    found = loader(tiny_export, signature, tmp_path)
    assert sorted(found) == sorted(FETCHES[signature])
    errors = [bool(one) for one in found[ERROR]]
    assert errors == [False, False, True, signature == "score", True]
    for key, values in found.items():
        values, wanted = np.array(values), expected[key].numpy().ravel()
        if key in (TEXT, ERROR):
            assert values.tolist() == wanted.tolist(), key
        else:
            np.testing.assert_allclose(values, wanted, atol=1e-5, err_msg=key)

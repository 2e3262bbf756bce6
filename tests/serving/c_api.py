"""Asks a SavedModel through TensorFlow's C interface in a process without Python's TensorFlow.

Run as a file. Standard input: JSON with version (path) and requests, by name, of signature and
inputs (by name, strings in base64). Standard output: JSON, by name of each request, each output to
a flat list of strings in base64, or of numbers.
"""

import base64
import json
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
os.environ["KERAS_ATTN_LAZY_IMPORT"] = "1"
from keras_attn.saved.session import SavedSession


def main():
    """Answers the requests on standard input."""
    asked = json.load(sys.stdin)
    model = SavedSession(asked["version"])
    answers = {name: answered(model, **value) for name, value in asked["requests"].items()}
    assert not {"keras", "tensorflow", "tensorflow_text"} & set(sys.modules)
    json.dump(answers, sys.stdout)


def answered(model, signature, inputs):
    """The answer to one request, its strings in base64 as those of the inputs."""
    columns = {key: [base64.b64decode(encoded) for encoded in row] for key, row in inputs.items()}
    return {key: flat(array) for key, array in model.outputs(signature, columns).items()}


def flat(array):
    """An array as a list, its strings in base64."""
    values = array.ravel().tolist()
    return [base64.b64encode(v).decode() for v in values] if array.dtype == object else values


if __name__ == "__main__":
    main()

"""Asks a SavedModel through TensorFlow's C interface in a process without Python's TensorFlow.

Run as a file. Standard input: JSON with version (path) and requests, by name, of feeds (tensor name
to strings in base64) and fetches (key to tensor name). Standard output: JSON, by name of each
request, each key to a flat list of strings in base64, or of floats.
"""

import base64
import json
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))
from benchmarks.stand_in.c_session import CSession, text_libraries


def main():
    """Answers the requests on standard input."""
    asked = json.load(sys.stdin)
    session = CSession(asked["version"], text_libraries())
    answers = {name: answered(session, **value) for name, value in asked["requests"].items()}
    assert not any(name.split(".")[0].startswith(("tensorflow", "keras")) for name in sys.modules)
    json.dump(answers, sys.stdout)


def answered(session, feeds, fetches):
    """The answer to one request, its strings in base64 as those of the feeds."""
    feeds = {
        key: np.array([base64.b64decode(encoded) for encoded in row], object)
        for key, row in feeds.items()
    }
    arrays = session.run(feeds, list(fetches.values()))
    return {key: flat(array) for key, array in zip(fetches, arrays)}


def flat(array):
    """An array as a list, its strings in base64."""
    values = array.ravel().tolist()
    return [base64.b64encode(v).decode() for v in values] if array.dtype == object else values


if __name__ == "__main__":
    main()

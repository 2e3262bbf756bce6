"""How long a saved model takes to its first answer, from the first import on.

Run as `python -m benchmarks.start_up SAVED_MODEL…`. Every road is a process of its own, in turns;
each asks `serving_default` for one row twice.

- keras-attn: `keras_attn.load`, which asks by TensorFlow's C interface.
- Python session: the same where the C interface cannot be had, by TensorFlow's Python.
- `tf.saved_model.load` and its signature.
- TF Serving: its loader, with the session of deploy/session.config, which is also
  that of keras-attn, and with TensorFlow's own.

Seconds are processor time, medians over the turns; in parentheses the median over the turns of all
but the second answer by those of `tf.saved_model.load` in the same turn. Nodes are those of the
graph and of all its functions.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.processes import in_its_own_process
from benchmarks.timing import answers_in_turns, ratio, table

ROADS = OURS, IN_PYTHON, PYTHON, SERVING, SERVING_OPTIMIZED = (
    "keras-attn",
    "keras-attn, Python session",
    "`tf.saved_model.load`",
    "TF Serving, session.config",
    "TF Serving, TensorFlow's session",
)
HEAD = ("model", "nodes", "road", "import", "load", "first answer", "second", "of TensorFlow's")
SIGNATURE = "serving_default"


def road(name: str, folder: str, rows) -> list[float]:
    """Seconds of importing, loading, the first answer and the second, in this process.

    Args:
        name: one of ROADS.
        folder: of a version of a SavedModel.
        rows: dict of its inputs.
    """
    seconds = []

    def timed(step, *arguments):
        begin = time.process_time()
        result = step(*arguments)
        seconds.append(time.process_time() - begin)
        return result

    load = timed(_IMPORTED[name])
    ask = timed(load, folder)
    for _ in range(2):
        timed(ask, rows)
    return seconds


def one_row(folder):
    """One of the model's own warm-up requests, a row of each input."""
    from tests.serving.stand_in.warm_up import warm_up_requests

    return next(inputs for name, inputs in warm_up_requests(folder) if name == SIGNATURE)


def _ours():
    from keras_attn.saved.saved_model import Saved

    return lambda folder: partial(Saved(folder).outputs, SIGNATURE)


def _in_python():
    import tensorflow_text  # noqa: F401

    from keras_attn.saved import c_session

    def missing(name):
        raise c_session.NoLibraryError(name)

    c_session._package = missing
    return _ours()


def _python():
    import tensorflow as tf
    import tensorflow_text  # noqa: F401

    def load(folder):
        signature = tf.saved_model.load(folder).signatures[SIGNATURE]

        def ask(rows):
            answer = signature(**{key: tf.constant(values) for key, values in rows.items()})
            return {key: value.numpy() for key, value in answer.items()}

        return ask

    return load


def _serving(config):
    from keras_attn.saved.session import SavedSession

    return lambda folder: partial(SavedSession(folder, config).outputs, SIGNATURE)


_IMPORTED: dict[str, Callable] = {
    OURS: _ours,
    IN_PYTHON: _in_python,
    PYTHON: _python,
    SERVING: partial(_serving, None),
    SERVING_OPTIMIZED: partial(_serving, b""),
}
"""For each road a function that imports what it needs and returns one of the folder that returns
one of rows."""


def nodes(folder) -> int:
    """Nodes of a SavedModel's graph and of its functions."""
    from tensorflow.core.protobuf import saved_model_pb2

    content = (Path(folder) / "saved_model.pb").read_bytes()
    graph = saved_model_pb2.SavedModel.FromString(content).meta_graphs[0].graph_def
    return len(graph.node) + sum(len(function.node_def) for function in graph.library.function)


def compare(folders, repeats: int) -> str:
    """The table.

    Args:
        folders: of SavedModels.
        repeats: int ≥ 1. Turns.
    """
    from keras_attn.saved.versions import version_folder  # A road imports TensorFlow itself.

    rows = []
    for folder in folders:
        version = str(version_folder(folder))
        row = in_its_own_process(one_row, version)
        works = {name: partial(in_its_own_process, road, name, version, row) for name in ROADS}
        answers = answers_in_turns(works, repeats, warm_up=False)
        seconds = {name: np.array(spent) for name, spent in answers.items()}
        for name in ROADS:
            share = ratio(seconds[name][:, :3].sum(axis=1), seconds[PYTHON][:, :3].sum(axis=1))
            cells = [f"{value:.2f}" for value in np.median(seconds[name], axis=0)]
            rows.append([Path(folder).name, f"{nodes(version):,}", name, *cells, f"({share:.2f})"])
    return table(HEAD, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("saved_models", nargs="+", help="folders of SavedModels or their versions")
    parser.add_argument("--repeats", type=int, default=5, help="turns (default: 5)")
    given = parser.parse_args()
    print(compare(given.saved_models, given.repeats))

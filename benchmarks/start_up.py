"""How long a saved model takes to its first answer, beside the import of TensorFlow.

Run as `python -m benchmarks.start_up SAVED_MODEL…`. Every road is a process of its own, in turns;
each asks `serving_default` for one row twice.

- keras-attn: `keras_attn.load`, which asks in a session without TensorFlow's graph optimizer.
- Python: `tf.saved_model.load` and its signature.
- C API: the loader of TF Serving, with the session of deploy/session.config and with TensorFlow's.

Seconds are processor time, medians over the turns; in brackets the median over the turns of load
and first answer together by the import of TensorFlow in the same process (for the C API: by that of
keras-attn's process in the same turn). Nodes are those of the graph and of all its functions.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.processes import in_its_own_process
from benchmarks.timing import answers_in_turns, ratio, table

ROADS = OURS, PYTHON, C, C_OPTIMIZED = (
    "keras-attn",
    "`tf.saved_model.load`",
    "C API, session.config",
    "C API, TensorFlow's session",
)
HEAD = ("model", "nodes", "road", "import", "load", "first answer", "second", "of the import")
SESSION = Path(__file__).resolve().parents[1] / "deploy" / "session.config"
SIGNATURE = "serving_default"


def road(name: str, folder: str) -> list[float]:
    """Seconds of importing TensorFlow, loading, the first answer and the second, in this process.

    Args:
        name: one of ROADS.
        folder: of a version of a SavedModel.
    """
    seconds = []

    def timed(step, *arguments):
        begin = time.process_time()
        result = step(*arguments)
        seconds.append(time.process_time() - begin)
        return result

    timed(_import)
    rows = _rows(folder)
    ask = timed(_LOADED[name], folder)
    for _ in range(2):
        timed(ask, rows)
    return seconds


def _import():
    import tensorflow  # noqa: F401
    import tensorflow_text  # noqa: F401


def _rows(folder):
    """One of the model's own warm-up requests, a row of each input."""
    from keras_attn.saved import loading  # noqa: F401  (its import does not count)
    from tests.serving.stand_in.warm_up import warm_up_requests

    return next(inputs for name, inputs in warm_up_requests(folder) if name == SIGNATURE)


def _python(folder):
    import tensorflow as tf

    signature = tf.saved_model.load(folder).signatures[SIGNATURE]

    def ask(rows):
        answer = signature(**{key: tf.constant(values) for key, values in rows.items()})
        return {key: value.numpy() for key, value in answer.items()}

    return ask


def _ours(folder):
    from keras_attn.saved.loading import load

    model = load(folder)
    return lambda rows: model.outputs(SIGNATURE, rows)


def _in_c(folder, session=None):
    from keras_attn.saved.c_model import CModel
    from tests.serving.stand_in.serving_messages import read_session_config

    config = read_session_config(session).SerializeToString() if session else b""
    model = CModel(folder, config)
    return lambda rows: model.outputs(SIGNATURE, rows)


_LOADED: dict[str, Callable] = {
    OURS: _ours,
    PYTHON: _python,
    C: lambda folder: _in_c(folder, SESSION),
    C_OPTIMIZED: _in_c,
}
"""For each road a function of the folder that returns one of rows."""


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
        works = {name: partial(in_its_own_process, road, name, version) for name in ROADS}
        answers = answers_in_turns(works, repeats, warm_up=False)
        seconds = {name: np.array(spent) for name, spent in answers.items()}
        for name in ROADS:
            imports = seconds[name if name in (OURS, PYTHON) else OURS][:, 0]
            share = ratio(seconds[name][:, 1:3].sum(axis=1), imports)
            cells = [f"{value:.2f}" for value in np.median(seconds[name], axis=0)]
            rows.append([Path(folder).name, f"{nodes(version):,}", name, *cells, f"({share:.2f})"])
    return table(HEAD, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("saved_models", nargs="+", help="folders of SavedModels or their versions")
    parser.add_argument("--repeats", type=int, default=5, help="turns (default: 5)")
    given = parser.parse_args()
    print(compare(given.saved_models, given.repeats))

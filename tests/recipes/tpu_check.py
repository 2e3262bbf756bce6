"""Compiles every recipe's training step and decoding loop for a TPU, without one.

Run by `make tpu-check`, whose environment libtpu's compiler needs; by itself it is
`python -m tests.recipes.tpu_check [--tiny] [RECIPE …]`. The models have the recipes' own sizes
(with --tiny those of the tests) and the vocabularies of tiny data; a step is that of a v5e with
four chips, which share the batch. Prints for each recipe seconds of compiling, and the memory of a
chip that the program needs, in MB.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import jax
import keras
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from keras_attn.decoding import decode
from keras_attn.training.training_stage import trained_model
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.prepared import prepare
from tests.recipes.registry import ROWS

CHIPS = 4
TOPOLOGY = "v5e:2x2"


class Chips:
    """The chips of a TPU that is only described.

    Attributes:
        everywhere: sharding of what all chips have.
        by_rows: sharding of a batch that they share.
    """

    def __init__(self):
        described = topologies.get_topology_desc(platform="tpu", topology_name=TOPOLOGY)
        mesh = Mesh(np.array(described.devices), ("batch",))
        self.everywhere = NamedSharding(mesh, PartitionSpec())
        self.by_rows = NamedSharding(mesh, PartitionSpec("batch"))

    def compiled(self, function, state, batch) -> tuple[float, float]:
        """Seconds of compiling a function of a state and a batch, and MB that a chip needs."""
        shapes = keras.tree.map_structure(_shape, (state, batch))
        rows = keras.tree.flatten(shapes[1])[0].shape[0]
        shared = self.by_rows if rows % CHIPS == 0 else self.everywhere
        begin = time.monotonic()
        program = jax.jit(function, in_shardings=(self.everywhere, shared)).lower(*shapes).compile()
        memory = program.memory_analysis()
        size = memory.argument_size_in_bytes + memory.output_size_in_bytes
        size += memory.temp_size_in_bytes + memory.generated_code_size_in_bytes
        return time.monotonic() - begin, (size - memory.alias_size_in_bytes) / 1e6


def _shape(array):
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def programs(experiment, data):
    """Yields the name, function, state and batch of what a recipe runs on a TPU."""
    prepared = prepare(experiment, data, replicas=CHIPS)
    stage = prepared.compile(prepared.build(), True).model
    batch = next(iter(prepared.data.training(0)))
    batch = keras.tree.map_structure(np.asarray, batch)
    stage._symbolic_build(data_batch=batch)
    stage.optimizer.build(stage.trainable_variables)
    state = (
        stage.trainable_variables,
        stage.non_trainable_variables,
        stage.optimizer.variables,
        stage.metrics_variables,
    )
    yield "step", stage.train_step, [[v.value for v in part] for part in state], batch
    if hasattr(experiment.task, "search"):
        model = trained_model(stage)
        strategy, length = experiment.task.search.strategy(), experiment.task.lengths[-1]

        def search(values, context):
            with keras.StatelessScope(zip(model.variables, values)):
                return decode(model, context, strategy, length, with_weights=False)

        yield "decoding", search, [variable.value for variable in model.variables], batch[0]


def check(row, tiny, chips, folder) -> list[str]:
    """Lines of a recipe's table.

    Raises:
        Exception: whatever keeps it from compiling.
    """
    of_data = ("tolerance", "source_column", "target_column")
    values = {key: row.values[key] for key in row.values if tiny or key in of_data}
    experiment, lines = load_recipe(row.name).replaced(values), []
    for name, function, state, batch in programs(experiment, row.data(folder)):
        seconds, size = chips.compiled(function, state, batch)
        lines.append(f"| {row.name} | {name} | {seconds:.0f} | {size:.0f} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipes", nargs="*", metavar="RECIPE")
    parser.add_argument("--tiny", action="store_true")
    given = parser.parse_args()
    chips, failed = Chips(), []
    keras.config.set_dtype_policy("mixed_bfloat16")
    rows = [row for row in ROWS if not row.start]
    print("| recipe | program | seconds | MB |\n| --- | --- | --- | --- |")
    for row in rows:
        if given.recipes and row.name not in given.recipes:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(*check(row, given.tiny, chips, Path(folder)), sep="\n", flush=True)
            except Exception as error:
                failed.append(row.name)
                print(f"| {row.name} | {type(error).__name__}: {error!s:.300} | | |", flush=True)
    sys.exit(f"not compiled: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()

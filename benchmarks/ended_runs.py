"""Runs of a benchmark that may have been trained before."""

from pathlib import Path

from keras_attn_pipelines.runs.description import ENDED
from keras_attn_pipelines.runs.run import DESCRIPTION_FILE, Run
from keras_attn_pipelines.runs.train import train


def ended_run(experiment, data, folder: Path, name: str, source=None) -> Run:
    """The run in a folder; trained, or resumed, where it has not ended.

    Args:
        experiment: `Experiment`.
        data: as of `keras-attn train`.
        folder: of the run.
        name: of the recipe.
        source: `WarmStart`, or None.
    """
    run = Run(folder)
    if (folder / DESCRIPTION_FILE).is_file() and run.description.get(ENDED):
        return run
    return train(experiment, data, folder, name=name, source=source, verbose=0)

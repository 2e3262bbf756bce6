"""Trains an experiment into a run directory."""

import contextlib
import math
import sys
from pathlib import Path

import keras

from keras_attn.layers.projections import enable_lora
from keras_attn.progress import Progress
from keras_attn.training.devices import (
    AUTO,
    jit_compile_for,
    precision_policy,
    strategy_for,
    strategy_named,
)
from keras_attn.training.jax_devices import JaxDevices, check_even
from keras_attn.training.workers import Workers
from keras_attn_pipelines.early_checks import check_training
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.stored import stored
from keras_attn_pipelines.runs.fitting import Fitting
from keras_attn_pipelines.runs.prepared import prepare
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.session import OtherWorker, RunSession
from keras_attn_pipelines.runs.warm_start import WarmStart


def train(
    experiment: Experiment,
    data,
    out,
    name: str = "",
    strategy: str = "one",
    precision: str = "auto",
    cache=None,
    source: WarmStart | None = None,
    verbose: int | str = "auto",
    checkpoint_seconds: float = 60.0,
) -> Run:
    """Trains a model into a run directory; called again, resumes where it stopped.

    The checkpoint holds the whole training state, so a resumed run ends with the weights of an
    uninterrupted one (up to rounding). With strategy "multiworker" each worker makes the same call;
    the chief reads and writes the run directory, decides and tells the others.

    Args:
        experiment: `Experiment`.
        data: path of the data folder, or another name that the source accepts.
        out: path of the run directory, new or of the same experiment.
        name: name of the recipe, for the record; if it is the path of a .py file, the file is kept
            in the run directory, since the model may need its layers.
        strategy: "one", "mirrored", "multiworker", "tpu" or "auto", see `strategy_for`.
        precision: "auto", "float32", "bfloat16" or "float16".
        cache: path of the feature cache; the user's cache folder if None.
        source: `WarmStart` whose weights and vocabularies the training starts from, or None.
        verbose: 0: no progress; 1 or "auto": a line an epoch, and on a terminal a bar within it;
            2: no bar.
        checkpoint_seconds: float. Minimum time between checkpoints within an epoch.

    Returns:
        `Run`.

    Raises:
        ValueError: bad data, an unknown strategy or precision, a record that has become unreadable,
            `out` holds something else or another process trains into it, `cache` is a file, the
            model differs from the one in `source`, or the loss is not finite; another worker was
            started with other settings or data.
        LostWorkerError: another worker ended, or cannot be reached.
    """
    check_training(experiment, data, out, name, strategy, cache, source is not None)
    return train_checked(
        experiment, data, out, name, strategy, precision, cache, source, verbose, checkpoint_seconds
    )


def train_checked(
    experiment: Experiment,
    data,
    out,
    name: str = "",
    strategy: str = "one",
    precision: str = "auto",
    cache=None,
    source: WarmStart | None = None,
    verbose: int | str = "auto",
    checkpoint_seconds: float = 60.0,
) -> Run:
    """`train`, of what `check_training` has let through."""
    if strategy == AUTO:
        strategy = strategy_for(strategy)
        print(f"strategy: {strategy}")
    run, policy = Run(out), precision_policy(precision, strategy)
    device = strategy_named(strategy)  # Before anything else that TensorFlow runs.
    workers = Workers(device)
    place = str(Path(data).resolve() if Path(data).exists() else data)
    chief = RunSession(run, name, place, strategy, policy, source)
    session = chief if workers.is_chief else OtherWorker()
    given = {"parts": stored(experiment), "precision": policy}
    with workers.watched(), session.locked(), _whole_scope(device):
        prepared = prepare(
            session.begin(experiment),
            data,
            vocabularies=source.vocabularies if source else None,
            cache=cache,
            replicas=device.num_replicas_in_sync,
            start=source.model if source else None,
        )
        if isinstance(device, JaxDevices):
            check_even(prepared.data.dev.element_spec, device.num_replicas_in_sync)
        workers.check_equal({**given, **prepared.agreed})
        session.check_data(prepared)
        with _dtype_policy(policy):
            with device.scope():
                built = prepared.build()
                if source:
                    source.start(prepared.experiment, built.model)
                if rank := getattr(prepared.experiment.optimizer, "lora", 0):
                    enable_lora(built.model, rank)
                    trained, whole = _counts(built.model)
                    print(f"LoRA of rank {rank}: {trained:,} of {whole:,} weights are trained")
                objective = prepared.compile(built, jit_compile_for(strategy, built.small_steps))
            session.describe(prepared, built.description)
            fitting = Fitting(
                prepared, run, built.model, objective.model, checkpoint_seconds, workers, verbose
            )
            with device.scope():
                fitting.restore()
            if source and not fitting.start:
                with Progress("scoring the weights to start from"):
                    session.describe_start(fitting.score_start())
            with prepared.records.naming_faults(), _error_on_its_own_line():
                fitting.fit()
                fitting.try_mean()
            session.finish(fitting)
    return run


def _counts(model):
    """Numbers of trained weights and of all."""
    return tuple(
        sum(math.prod(weight.shape) for weight in weights)
        for weights in (model.trainable_weights, model.weights)
    )


def _whole_scope(device):
    """The scope of devices of JAX, in which data are read, too."""
    return device.scope() if isinstance(device, JaxDevices) else contextlib.nullcontext()


@contextlib.contextmanager
def _dtype_policy(policy):
    """Context in which layers are made with a policy of Keras."""
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy("float32")


@contextlib.contextmanager
def _error_on_its_own_line():
    """Ends the line of the progress bar, on a terminal, if an error interrupts it."""
    try:
        yield
    except BaseException:
        if sys.stdout.isatty():
            print(flush=True)
        raise

"""What a training keeps in its run directory, from the first file to the last."""

import abc
import contextlib
import os
import re
from collections.abc import Mapping
from typing import Any

import keras

from keras_attn.escaping import escape_terminal
from keras_attn.training.devices import AUTO
from keras_attn.whole_file import is_scratch, whole_file
from keras_attn_pipelines.data.fingerprint import RECORDED, fingerprint
from keras_attn_pipelines.experiment.evaluation import FEW_TO_TRAIN, few_records
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.stored import DESCRIPTION_FILE, TYPE, restored, stored
from keras_attn_pipelines.runs.description import (
    BACKEND,
    DIGESTS,
    ENDED,
    ENSEMBLE_OF,
    EXAMPLE,
    FACTS,
    KEPT,
    START,
)
from keras_attn_pipelines.runs.fitting import Fitting
from keras_attn_pipelines.runs.next_commands import example_of
from keras_attn_pipelines.runs.prepared import Prepared
from keras_attn_pipelines.runs.run import (
    CHECKPOINT_FILE,
    HISTORY_FILE,
    LOCK_FILE,
    MODEL_FILE,
    Run,
)
from keras_attn_pipelines.runs.training_summary import TrainingSummary, search_note
from keras_attn_pipelines.runs.warm_start import WarmStart


class Session(abc.ABC):
    """Abstract: a training's access to its run directory, which only the chief worker writes."""

    @abc.abstractmethod
    def locked(self) -> contextlib.AbstractContextManager:
        """Context in which no other process trains into the directory."""

    @abc.abstractmethod
    def begin(self, experiment: Experiment) -> Experiment:
        """The experiment, with the decisions of the stopped training that it resumes, if any.

        Raises:
            ValueError: a folder with other files, or a run of another experiment.
        """

    @abc.abstractmethod
    def check_data(self, prepared: Prepared) -> None:
        """Raises ValueError if a run would resume with other data, before anything is written."""

    @abc.abstractmethod
    def describe(self, prepared: Prepared, model: str) -> None:
        """Writes what is known before the first step, and prints what was read.

        Args:
            prepared: `Prepared`.
            model: the model in a few words.
        """

    @abc.abstractmethod
    def describe_start(self, scores: Mapping[str, float]) -> None:
        """Records the metrics before the first step of a training from other weights."""

    @abc.abstractmethod
    def finish(self, fitting: Fitting) -> None:
        """Records which epoch was kept, and removes temporary files."""


class OtherWorker(Session):
    """A session without a run directory, which is another worker's."""

    def locked(self):
        return contextlib.nullcontext()

    def begin(self, experiment):
        return experiment

    def check_data(self, prepared):
        pass

    def describe(self, prepared, model):
        pass

    def describe_start(self, scores):
        pass

    def finish(self, fitting):
        pass


class RunSession(Session):
    """The session of the process that writes the run directory.

    Args:
        run: `Run`.
        name: of the recipe, or the path of a .py file, which is kept.
        data: path or name of the data.
        strategy: name of the strategy.
        precision: policy of Keras.
        source: `WarmStart`, or None.
    """

    def __init__(
        self,
        run: Run,
        name: str,
        data: str,
        strategy: str,
        precision: str,
        source: WarmStart | None,
    ):
        self.run, self.name = run, name
        self._description: dict[str, Any] = {
            "recipe": name,
            "data": data,
            "from": str(source.path.resolve()) if source else None,
            "origin": dict(source.origin) if source else None,
            "precision": precision,
            "strategy": strategy,
            BACKEND: keras.backend.backend(),
        }

    def locked(self):
        return self.run.locked()

    def begin(self, experiment):
        folder = self.run.folder
        if all(entry.name == LOCK_FILE or is_scratch(entry) for entry in folder.iterdir()):
            return experiment
        recorded = self.run.description
        if not (_has_progress(self.run) or recorded.get(ENDED)):
            _check_progress(folder)
            return experiment
        if START in recorded:
            self._description[START] = recorded[START]
        recorded = {BACKEND: "tensorflow", **recorded}  # Runs of earlier versions do not say.
        resumed = experiment
        description = {**self._description, "parts": stored(experiment)}
        for key in ("recipe", "parts", "from", "precision", BACKEND):
            before, after = recorded.get(key), description[key]
            if key == "parts":  # Earlier versions have fewer fields.
                begun = restored(before, experiment, folder / DESCRIPTION_FILE)
                resumed = _resolved_as(begun, experiment)
                before, after = stored(begun), stored(resumed)
            if before != after:
                raise ValueError(
                    f"Expected a new run directory, or one of the same {key}. Received: {folder} "
                    f"with {_difference(before, after)}"
                )
        if recorded.get(ENDED):
            self.run.settle()
            ended = f"whose training has ended; to train on: --from {folder} --out NEW"
            if ENSEMBLE_OF in recorded:
                ended = "an ensemble, which cannot be trained on"
            raise ValueError(f"Expected a new run directory. Received: {folder}, {ended}")
        _check_progress(folder)
        return resumed

    def check_data(self, prepared):
        if not _has_progress(self.run):
            return
        before, known = self.run.description, self.run.vocabularies()
        counts = before["records"]
        if counts != prepared.counts:
            received = prepared.counts
        elif (known_print := before.get("fingerprint")) != prepared.agreed["fingerprint"] and (
            known_print != fingerprint(prepared.data.splits, RECORDED)  # Of earlier versions.
        ):
            received = "as many others, or the same in another order"
        elif other := [
            name
            for name, vocabulary in prepared.vocabularies.items()
            if not vocabulary.equals(known.get(name))
        ]:
            received = f"others, from which another {other[0]} was learned"
        else:
            return
        raise ValueError(
            f"Expected the {prepared.unit} that training in {self.run.folder} started with, "
            f"{counts}. Received: {received}"
        )

    def describe(self, prepared, model):
        self._description |= {
            "parts": stored(prepared.experiment),
            **prepared.agreed,
            "unit": prepared.unit,
            "model": model,
            FACTS: _facts(prepared),
            EXAMPLE: example_of(prepared.experiment.work, prepared.data.splits["dev"]),
        }
        self.run.describe(self._description)
        self._description[DIGESTS] = self.run.save_vocabularies(prepared.vocabularies)
        self.run.describe(self._description)
        if self.name.endswith(".py"):
            self.run.keep_recipe(self.name)
        _report(self.run, prepared)

    def describe_start(self, scores):
        self._description[START] = dict(scores)
        self.run.describe(self._description)

    def finish(self, fitting):
        self.run.describe({**self._description, KEPT: fitting.describe_best(), ENDED: True})
        self.run.settle()
        summary = TrainingSummary.of(self.run)
        note = search_note(self.run.experiment(), summary.monitor)
        lines = [f"kept: {summary}", note, summary.change, summary.warning()]
        print("\n".join(filter(None, lines)), flush=True)


def _resolved_as(begun: Experiment, experiment: Experiment) -> Experiment:
    """A copy whose task takes from another run the values of its fields that are "auto"."""
    known, flags = begun.values(), experiment.flags()
    open_fields = [field.name for part, field, _, value in flags if (part, value) == ("task", AUTO)]
    return experiment.replaced({name: known[name] for name in open_fields if name in known})


def _check_progress(folder):
    """Raises ValueError for a training that has begun but left no checkpoint."""
    path = folder / CHECKPOINT_FILE
    progress = [name for name in (HISTORY_FILE, MODEL_FILE) if (folder / name).exists()]
    if not path.is_file() and (progress or os.path.lexists(path)):
        there = f"no such file beside {progress[0]}" if progress else "no file"
        raise ValueError(
            f"Expected the checkpoint {path} of a training that has not ended. "
            f"Received: {there}; to begin anew, train into a new directory"
        )


def _has_progress(run):
    """Whether a checkpoint or a model has been saved."""
    return any((run.folder / name).exists() for name in (CHECKPOINT_FILE, MODEL_FILE))


def _difference(before, after):
    """What differs, by field name if there are fields."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return f"{before!r} instead of {after!r}"
    if before.get(TYPE) != after.get(TYPE):  # Another part, whose fields are others too.
        return f"{before[TYPE]} instead of {after[TYPE]}"
    changed = {key: (before.get(key), after.get(key)) for key in {**before, **after}}
    return ", ".join(
        _difference(old, new)
        if isinstance(old, dict) and isinstance(new, dict)
        else f"{key}={old!r} instead of {new!r}"
        for key, (old, new) in changed.items()
        if old != new
    )


def _report(run, prepared: Prepared):
    """Prints what was read, and writes skipped.txt."""
    records, loaded, unit = prepared.records, prepared.data, prepared.unit
    for line in records.lines:
        print(escape_terminal(line))
    counts = ", ".join(f"{count} {split}" for split, count in prepared.counts.items())
    print(escape_terminal("; ".join(filter(None, [f"{unit}: {counts}", _sizes(prepared)]))))
    if few := few_records(prepared.counts["dev"], unit):
        print(f"few records in dev: {few}")
    advice, train = prepared.experiment.task.spec.from_few, prepared.counts["train"]
    if advice and train < FEW_TO_TRAIN and prepared.setting.start is None:
        print(f"few records in train: {train} {unit}; {advice}")
    optimizer, steps = prepared.experiment.optimizer, loaded.steps * prepared.experiment.fit.epochs
    notes = optimizer.notes(steps) if hasattr(optimizer, "notes") else ()
    for line in loaded.lines:
        print(escape_terminal(line))
    if details := [*loaded.details, *notes]:
        _write_lines(run.folder / "details.txt", details)
    if skipped := [*records.skipped, *loaded.skipped]:
        path = run.folder / "skipped.txt"
        _write_lines(path, skipped)
        noun = "record" if len(skipped) == 1 else "records"
        print(escape_terminal(f"{len(skipped)} {noun} skipped, listed in {path}"))


def _sizes(prepared):
    """The sizes of the vocabularies in words."""
    return ", ".join(
        f"{name}: {vocabulary.vocabulary_size} {vocabulary.unit}"
        for name, vocabulary in prepared.vocabularies.items()
    )


def _facts(prepared):
    """Lines on the data for the model card, without paths."""
    read = [re.sub(r" \([^()]*\)$", "", line) for line in prepared.records.lines]
    return list(filter(None, [*read, _sizes(prepared), *prepared.data.lines]))


def _write_lines(path, lines):
    with whole_file(path) as partial:
        partial.write_text("".join(f"{line}\n" for line in lines), "utf-8", "backslashreplace")

"""The run directory: everything training writes, and how to read it back."""

import contextlib
import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras_attn.registered  # noqa: F401  (for models that are loaded)
from keras_attn.layers.projections import merge_lora
from keras_attn.serving.precision import set_precision
from keras_attn.serving.readers.pictures import with_max_pixels
from keras_attn.training.averaging import SNAPSHOT
from keras_attn.training.model_file import read_model_file
from keras_attn.training.resume import is_checkpoint
from keras_attn.whole_file import (
    check_folder,
    digest_of_folder,
    locked,
    made_folder,
    remove_marked,
    remove_stale,
    settle_file,
    whole_file,
)
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.recipe_file import load_recipe_file
from keras_attn_pipelines.experiment.stored import DESCRIPTION_FILE, restored
from keras_attn_pipelines.runs.description import (
    DIGEST,
    DIGESTS,
    KEPT,
    read_description,
)

MODEL_FILE, RECIPE_FILE, CHECKPOINT_FILE = "model.keras", "recipe.py", "checkpoint.npz"
HISTORY_FILE, MEAN_FOLDER, LOCK_FILE = "history.csv", "mean-snapshots", ".keras-attn.lock"


@dataclass(frozen=True)
class Run:
    """A run directory.

    recipe.json (the experiment's parts, counts and a fingerprint of the records, sizes of
    vocabularies, and once training has ended the epoch that was kept), recipe.py (a copy of the
    user's own recipe file), a folder for each vocabulary, model.keras (the best epoch),
    history.csv, skipped.txt, details.txt (batches, schedules), tensorboard/, film/ and film.gif (of
    spatial transformers). Until training ends, checkpoint.npz says what it has decided so far; the
    other files follow it.

    Attributes:
        folder: path of the folder, which need not exist yet.

    Raises:
        ValueError: the path or one of its parents is a file.
    """

    folder: Path

    def __post_init__(self):
        object.__setattr__(self, "folder", Path(self.folder))
        check_folder(self.folder)

    @property
    def description(self) -> dict:
        """What `describe` wrote.

        Raises:
            ValueError: the folder is not a run directory, recipe.json is damaged, or an earlier
                version wrote it.
        """
        return read_description(self.folder / DESCRIPTION_FILE)

    def describe(self, description: Mapping[str, Any]) -> None:
        """Writes recipe.json atomically."""
        with whole_file(made_folder(self.folder) / DESCRIPTION_FILE) as partial:
            partial.write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")

    def experiment(self) -> Experiment:
        """The experiment that was trained.

        Raises:
            ValueError: an unknown part, or a recipe file that does not run.
        """
        path = self.folder / DESCRIPTION_FILE
        return restored(self.description["parts"], self._recipe_file(), path)

    def keep_recipe(self, path) -> None:
        """Copies a recipe file into the run."""
        with whole_file(self.folder / RECIPE_FILE) as partial:
            shutil.copyfile(path, partial)

    def _recipe_file(self) -> Experiment | None:
        """The experiment in a user's own recipe file, which also registers its layers."""
        path = self.folder / RECIPE_FILE
        return load_recipe_file(path) if path.is_file() else None

    def vocabularies(self) -> dict[str, Any]:
        """The model's vocabularies by name.

        Raises:
            ValueError: one is missing, damaged or not the one that was saved.
        """
        digests = self.description.get(DIGESTS)
        return load_vocabularies(self.folder, self.experiment(), digests)

    def save_vocabularies(self, vocabularies: Mapping[str, Any]) -> dict[str, str]:
        """Writes vocabularies; returns their digests by name, for the description."""
        for name, vocabulary in vocabularies.items():
            vocabulary.save(self.folder / name)
        return {name: digest_of_folder(self.folder / name) for name in vocabularies}

    def model(self, precision="float32"):
        """The model of the best epoch, in any precision; updates of LoRA are merged.

        Raises:
            ValueError: no finished epoch, a damaged file or one with code in it, see
                `read_model_file`, or an unknown precision.
        """
        path = self.folder / MODEL_FILE
        self.settle()
        if not path.is_file():
            raise ValueError(f"Expected a trained model at {path}. Received: no such file")
        self._recipe_file()
        model = read_model_file(path)
        merge_lora(model)
        set_precision(model, precision)
        return model

    def settle(self) -> None:
        """Completes what a process that was killed at the very end of training left undone.

        Raises:
            ValueError: model.keras is not the file that was kept.
        """
        kept = self.description.get(KEPT)
        if kept is None:
            return
        settle_file(self.folder / MODEL_FILE, kept[DIGEST])
        with contextlib.suppress(OSError):  # The disk may be read-only.
            if is_checkpoint(self.folder / CHECKPOINT_FILE):
                (self.folder / CHECKPOINT_FILE).unlink()
            if _is_lock(self.folder / LOCK_FILE):
                (self.folder / LOCK_FILE).unlink()
        remove_stale(self.folder)
        remove_marked(self.folder / MEAN_FOLDER, SNAPSHOT)

    @contextlib.contextmanager
    def locked(self):
        """Creates the folder and locks it against other trainings.

        The system releases the lock when the process ends, however it ends. A folder in which
        nothing was written is removed.

        Raises:
            ValueError: another process trains into it.
            OSError: it cannot be written to.
        """
        is_new = not self.folder.exists()
        path = self._made_lock()
        try:
            with locked(path, wait=False):
                remove_stale(self.folder)
                try:
                    yield
                finally:  # Only who holds the lock may remove it.
                    if not (self.folder / DESCRIPTION_FILE).exists():
                        path.unlink(missing_ok=True)
                        with contextlib.suppress(OSError):
                            if is_new:
                                self.folder.rmdir()
        except BlockingIOError as error:
            raise ValueError(
                "Expected a run directory that no other process trains into. "
                f"Received: {self.folder}, which is locked"
            ) from error

    def _made_lock(self):
        """The path of the lock file, which is made if there is none."""
        path = made_folder(self.folder) / LOCK_FILE
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            if not _is_lock(path):
                raise ValueError(
                    f"Expected a new run directory. Received: {self.folder} with {path.name}"
                ) from None
        except OSError as error:
            reason = error.strerror or error
            raise OSError(f"Expected to write to {self.folder}. Received: {reason}") from error
        return path

    def service(self, beam_width=None, n_best=1, precision="float32", max_pixels=None) -> Any:
        """The model as a service.

        Args:
            beam_width: int, or None for the task's.
            n_best: int. Answers for each request.
            precision: as for `model`.
            max_pixels: int, or None for the default; see `PictureFormat`.

        Raises:
            ValueError: as `model` and `vocabularies`, vocabularies of another model, several
                answers of a model that has one, or `max_pixels` out of range or for a model that
                does not take pictures.
        """
        experiment = self.experiment()
        if beam_width is not None and not experiment.task.spec.searches:
            raise ValueError(
                "Expected no beam width for a model whose answers need no search. "
                f"Received: beam_width={beam_width}"
            )
        model = self.model(precision)
        vocabularies, sizes = self.vocabularies(), self.description["vocabularies"]
        for name, vocabulary in vocabularies.items():
            if vocabulary.vocabulary_size != sizes.get(name):
                raise ValueError(
                    f"Expected a {name} of {sizes.get(name)} {vocabulary.unit} in {self.folder}. "
                    f"Received: {vocabulary.vocabulary_size}"
                )
        service = experiment.work.service(model, vocabularies, experiment.model, beam_width, n_best)
        if n_best > 1 and service.metadata().get("n_best", 1) == 1:
            raise ValueError(
                f"Expected n_best=1 for a model with one answer. Received: n_best={n_best}"
            )
        if max_pixels is not None:
            with_max_pixels(service, max_pixels)
        return service


def _is_lock(path):
    """Whether a file is empty, as a lock is, and no link."""
    return path.is_file() and not path.is_symlink() and not path.stat().st_size


def load_vocabularies(
    folder: Path, experiment: Experiment, digests: Mapping[str, str] | None
) -> dict[str, Any]:
    """The vocabularies of an experiment's task in a folder, by name.

    Args:
        folder: path.
        experiment: `Experiment`.
        digests: their digests by name; None if an earlier version saved them without.

    Raises:
        ValueError: one is missing, damaged or not the one that was saved.
    """
    types = experiment.work.vocabulary_types()
    if digests is None:
        print(f"not verified: {folder} has no digests of {' and '.join(types)}", file=sys.stderr)
    elif changed := [n for n in types if digest_of_folder(folder / n) != digests.get(n)]:
        raise ValueError(
            f"Expected the files that were saved in {folder / changed[0]}. "
            "Received: damaged or different ones"
        )
    return {name: cls.load(folder / name) for name, cls in types.items()}

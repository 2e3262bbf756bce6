"""Which epoch of a training was kept, why training ended, and how far it got."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keras_attn.training.resume import read_states
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.runs.description import ENDED, ERROR_OF, KEPT, START
from keras_attn_pipelines.runs.run import CHECKPOINT_FILE, HISTORY_FILE, Run

STEEP = 0.05
"""Fall of the loss in an epoch that is still fast, as a share of the loss after the first epoch; if
that is below 1, as it is."""
LOW_BLEU = 1.0


@dataclass(frozen=True)
class TrainingSummary:
    """Which epoch of a training was kept, and why training ended.

    Attributes:
        monitor: name of the metric that selected the epoch.
        value: its value.
        epoch: number of the epoch, from 1, or what else was kept, such as a mean.
        trained: number of whole epochs that were trained.
        epochs: number of epochs that were asked for.
        patience: number of epochs without improvement that end training.
        ended: whether training has ended.
        rows: the metrics of each epoch.
        change: how the metrics differ from those before the first epoch, of a run that started from
            another one's weights; '' for others.
    """

    monitor: str
    value: float
    epoch: int | str
    trained: int
    epochs: int
    patience: int
    ended: bool
    rows: Sequence[Mapping[str, float]] = ()
    change: str = ""

    @classmethod
    def of(cls, run: Run) -> "TrainingSummary | None":
        """What a run kept, stopped ones included; None for a mean of runs, or a run of an earlier
        version that does not say."""
        description, fit = run.description, run.experiment().fit
        kept = description.get(KEPT)
        if kept is None:
            kept = _so_far(run, fit.monitor)
        if not {"monitor", "value", "epoch"} <= kept.keys():
            return None
        rows = _history(run)
        ended = bool(description.get(ENDED))
        values = {name: kept[name] for name in ("monitor", "value", "epoch")}
        values |= {"trained": len(rows), "epochs": fit.epochs, "patience": fit.patience}
        return cls(**values, ended=ended, rows=rows, change=_change(run, values, rows))

    def __str__(self):
        number = isinstance(self.epoch, int)
        epoch = f"epoch {self.epoch} of {self.epochs}" if number else f"{self.epoch} epochs"
        return f"{epoch}, {self.monitor} {self.value:.4g}; {self._end()}"

    def _end(self):
        if not self.ended:
            return f"interrupted after epoch {self.trained}"
        if self.trained < self.epochs:
            epochs = "1 epoch" if self.patience == 1 else f"{self.patience} epochs"
            return f"training ended after epoch {self.trained}: no improvement for {epochs}"
        return f"training ran for {f'all {self.epochs} epochs' if self.epochs > 1 else '1 epoch'}"

    def shortcomings(self) -> list[str]:
        """Signs that the model is undertrained."""
        signs = []
        key = "val_loss" if self.rows and "val_loss" in self.rows[0] else "loss"
        losses = [row[key] for row in self.rows if key in row]
        is_last = not isinstance(self.epoch, int) or self.epoch == self.trained
        if is_last and len(losses) > 1 and losses[-2] - losses[-1] > STEEP * max(losses[0], 1):
            signs.append(f"{key} was still falling fast ({losses[-2]:.4g} → {losses[-1]:.4g})")
        row = _row_of(self.rows, self.epoch)
        for key in ("val_bleu", "val_bleu_4"):
            if row.get(key, LOW_BLEU) < LOW_BLEU:
                signs.append(f"BLEU is {round(row[key], 2):g}")
        return signs

    def warning(self) -> str:
        """A sentence if the model is undertrained, else ''."""
        signs = self.shortcomings()
        return f"This model is undertrained: {'; '.join(signs)}." if signs else ""


def trained_line(run: Run) -> str:
    """Which epoch a run kept, what became of the metrics and whether it is undertrained, in one
    line; '' of a run that does not say."""
    summary = TrainingSummary.of(run)
    if summary is None:
        return ""
    return ". ".join(filter(None, [str(summary), summary.change, summary.warning()]))


def search_note(experiment: Experiment, monitor: str) -> str:
    """A sentence where training scores greedy answers and `evaluate` those of a beam; else ''."""
    spec, search = experiment.task.spec, getattr(experiment.task, "search", None)
    if not (spec.searches and monitor.removeprefix("val_") in spec.monitors):
        return ""
    if (width := getattr(search, "beam_width", None)) == 1:
        return ""
    beam = f"a beam of {width}" if width else "a beam"
    return f"{monitor} is of greedy answers; evaluate searches with {beam}, and its scores differ."


def _so_far(run, monitor) -> dict[str, Any]:
    """What a training that has not ended has kept so far."""
    best = read_states(run.folder / CHECKPOINT_FILE).get("BestModel") or {}
    if not isinstance(best.get("best"), float):
        return {}
    return {"monitor": monitor, "value": best["best"], "epoch": best["best_epoch"]}


def _change(run, kept, rows) -> str:
    """The monitored metric and the task's own one, before the first epoch and in the kept one."""
    description, experiment = run.description, run.experiment()
    before = description.get(START)
    if not before:
        return ""
    count, epoch = description["records"]["dev"], kept["epoch"]
    after = {**_row_of(rows, epoch), kept["monitor"]: kept["value"]}
    names = getattr(experiment.work, "metric_names", {})
    keys = dict.fromkeys([f"val_{key}" for key in experiment.task.spec.monitors[:1]])
    parts = []
    for key in [*keys, *([] if kept["monitor"] in keys else [kept["monitor"]])]:
        if key in before and key in after:
            name = names.get(key.removeprefix("val_"), key)
            error = before.get(f"{ERROR_OF}{key}")
            chance = "" if error is None else f" (± {error:.2g})"
            parts.append(f"{name} {before[key]:.3g} → {after[key]:.3g}{chance}")
    return f"{', '.join(parts)} on {count} {description['unit']}" if parts else ""


def _row_of(rows, epoch):
    """The metrics of an epoch; none for a mean, or where history.csv is behind the checkpoint."""
    return rows[epoch - 1] if isinstance(epoch, int) and epoch <= len(rows) else {}


def _history(run) -> list[dict[str, float]]:
    """The numbers in history.csv, epoch by epoch."""
    path = run.folder / HISTORY_FILE
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [_numbers(row) for row in csv.DictReader(file)]


def _numbers(row):
    numbers = {}
    for name, text in row.items():
        try:
            numbers[name] = float(text)
        except (TypeError, ValueError):  # Notes on how metrics are computed.
            continue
    return numbers

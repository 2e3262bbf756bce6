"""Progress of a training."""

import shutil
import sys
import time
from collections.abc import Sequence

import keras

from keras_attn.progress import format_duration

WIDTH, REFRESH = 30, 0.1
"""Characters of a bar, and the least time in seconds between two states of it."""
COMPILING = "compiling the training step"


class TrainingProgress(keras.callbacks.Callback):
    """Prints a line after each epoch, and on a terminal a bar within it; takes the place of Keras'.

    The time left counts steps at the pace of the latest epoch, and the scoring after it. It leaves
    out what happens once: the first step, which compiles, and the first scoring. Where a call of
    `fit` begins within an epoch, the bar goes on from that step. Stands behind callbacks that add
    to the logs.

    Args:
        epochs: int. Epochs of the whole training.
        steps_per_epoch: int. Steps of an epoch.
        monitors: keys of the logs to print beside the losses.
        bar: bool. Whether to draw a bar; None: on a terminal.

    Attributes:
        compiled: bool. Whether the training step is compiled; set it to False if it changes.
    """

    changes_model = False

    def __init__(
        self, epochs, steps_per_epoch, monitors: Sequence[str] = (), bar: bool | None = None
    ):
        super().__init__()
        self.epochs, self.steps_per_epoch = epochs, steps_per_epoch
        self.monitors = dict.fromkeys(["loss", "val_loss", *monitors])
        self.bar = sys.stdout.isatty() if bar is None else bar
        self.compiled, self.epoch = False, None
        self.pace = self.scoring = self.seconds = 0.0
        self.scored = False

    def on_epoch_begin(self, epoch, logs=None):
        self.done = (
            int(keras.ops.convert_to_numpy(self.model.optimizer.iterations)) % self.steps_per_epoch
        )
        now = time.monotonic()
        if epoch != self.epoch:
            self.epoch, self.seconds = epoch, 0.0
        self.begin, self.first, self.drawn = now - self.seconds, self.done, 0.0
        self.mark = (now, self.done) if self.compiled else None
        if not self.compiled:
            print(f"epoch {epoch + 1} of {self.epochs}: {COMPILING}", flush=True)

    def on_train_batch_end(self, batch, logs=None):
        self.done, now = self.first + batch + 1, time.monotonic()
        self.seconds, self.compiled = now - self.begin, True
        if self.mark is None:
            self.mark = now, self.done
        elif self.done > self.mark[1]:
            self.pace = (now - self.mark[0]) / (self.done - self.mark[1])
        last = self.done == self.steps_per_epoch
        if self.bar and (last or now - self.drawn >= REFRESH):
            self.drawn = now
            self._draw(logs or {}, "\n" if last else "")

    def on_epoch_end(self, epoch, logs=None):
        if self.done < self.steps_per_epoch:  # Another call of `fit` goes on with the epoch.
            return
        seconds = time.monotonic() - self.begin
        unknown = "" if self.scored else ", plus scoring"
        if self.scored:
            self.scoring = seconds - self.seconds
        self.scored = True
        shown = [f"{key} {logs[key]:.4g}" for key in self.monitors if key in (logs or {})]
        rest = self.epochs - epoch - 1
        left = self.pace * self.steps_per_epoch * rest + self.scoring * rest
        shown += [f"about {format_duration(left)} left{unknown}"] if rest else []
        line = f"epoch {epoch + 1} of {self.epochs}: {format_duration(seconds)}, {', '.join(shown)}"
        print(line, flush=True)

    def _draw(self, logs, end):
        """Draws the bar in Keras' plain form over the line before."""
        filled = WIDTH * self.done // self.steps_per_epoch
        bar = ("=" * filled + ">" * (filled < WIDTH)).ljust(WIDTH, ".")
        left = self.pace * (self.steps_per_epoch - self.done)
        times = f"{format_duration(left)} left" if left else format_duration(self.seconds)
        line = f"{self.done}/{self.steps_per_epoch} [{bar}] {times}"
        line += "".join(f" - {name}: {float(value):.4f}" for name, value in logs.items())
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{line[:width]:{width}}", end=end, flush=True)

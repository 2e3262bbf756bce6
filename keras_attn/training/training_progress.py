"""Progress of a training: a bar within an epoch on a terminal, a line a minute elsewhere."""

import math
import shutil
import sys
import time
from collections.abc import Sequence

import keras

from keras_attn.progress import MINUTE, format_duration

WIDTH, REFRESH = 30, 0.1
"""Characters of a bar, and the least time in seconds between two states of it."""
COMPILING = "compiling the training step"
LONG, SLOW = 1.0, 30
"""A step of so many seconds that takes so many times as long as the shortest compiled something."""


class TrainingProgress(keras.callbacks.Callback):
    """Prints a line after each epoch, and within it a bar on a terminal, elsewhere a line a minute.

    Takes the place of Keras' own progress: `fit` needs `verbose=0`, or both are printed. The time
    left counts steps at the pace of the latest epoch, and the scoring after it. It leaves
    out what happens once: the first step, which compiles, other steps that compile a new shape of
    batches, and the first scoring. Where a call of `fit` begins within an epoch, the bar goes on
    from that step. Stands behind callbacks that add to the logs.

    Args:
        epochs: int. Epochs of the whole training.
        steps_per_epoch: int. Steps of an epoch.
        monitors: keys of the logs to print beside the losses.
        bar: bool. Whether to draw a bar, and not a line a minute; None: on a terminal.

    Attributes:
        compiled: bool. Whether the training step is compiled; set it to False if it changes.

    Example:
        `model.fit(data, epochs=9, callbacks=[TrainingProgress(9, len(data))], verbose=0)`
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
        self.pace = self.seconds = 0.0
        self.shortest = math.inf
        self.scored, self.scoring = False, None

    def on_epoch_begin(self, epoch, logs=None):
        steps, now = self.model.optimizer.iterations, time.monotonic()
        self.done = int(keras.ops.convert_to_numpy(steps)) % self.steps_per_epoch
        if epoch != self.epoch:
            self.epoch, self.seconds = epoch, 0.0
        self.begin, self.first, self.drawn = now - self.seconds, self.done, 0.0
        self.mark, self.printed = (now, self.done) if self.compiled else None, now
        self.before, self.long = now, []
        if not self.compiled:
            print(f"epoch {epoch + 1} of {self.epochs}: {COMPILING}", flush=True)

    def on_train_batch_end(self, batch, logs=None):
        self.done, now = self.first + batch + 1, time.monotonic()
        self.seconds, self.compiled = now - self.begin, True
        if self.mark is None:
            self.mark, self.printed = (now, self.done), now
        elif self.done > self.mark[1]:
            self._measure(now)
        self.before = now
        last = self.done == self.steps_per_epoch
        if self.bar and (last or now - self.drawn >= REFRESH):
            self.drawn = now
            self._draw(logs or {}, "\n" if last else "")
        elif not self.bar and not last and now - self.printed >= MINUTE:
            self.printed = now
            step = f"step {self.done:,} of {self.steps_per_epoch:,}"
            loss = {"loss": logs["loss"]} if logs and "loss" in logs else {}
            self._print(step, loss, self.steps_per_epoch - self.done)

    def _measure(self, now):
        """Updates the pace by the epoch's steps since the mark, but those that compile."""
        step = now - self.before
        self.shortest = min(self.shortest, step)
        if step >= LONG:
            self.long.append(step)
        compiling = [seconds for seconds in self.long if seconds > SLOW * self.shortest]
        if steps := self.done - self.mark[1] - len(compiling):
            self.pace = (now - self.mark[0] - sum(compiling)) / steps

    def on_epoch_end(self, epoch, logs=None):
        if self.done < self.steps_per_epoch:  # Another call of `fit` goes on with the epoch.
            return
        seconds = time.monotonic() - self.begin
        if self.scored:
            self.scoring = seconds - self.seconds
        self.scored = True
        shown = {key: logs[key] for key in self.monitors if key in (logs or {})}
        self._print(format_duration(seconds), shown, 0)

    def _print(self, done, shown, steps):
        """Prints what is done of the epoch, some metrics, and the time left.

        Args:
            done: in words.
            shown: metrics by name.
            steps: steps left in the epoch.
        """
        rest = self.epochs - self.epoch - 1
        parts = [done, *(f"{key} {float(value):.4g}" for key, value in shown.items())]
        if steps or rest:
            left = self.pace * (steps + self.steps_per_epoch * rest)
            left += (self.scoring or 0.0) * (rest + bool(steps))
            unknown = ", plus scoring" if self.scoring is None else ""
            parts.append(f"about {format_duration(left)} left{unknown}")
        print(f"epoch {self.epoch + 1} of {self.epochs}: {', '.join(parts)}", flush=True)

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

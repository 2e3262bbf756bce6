"""Pictures of where the heads of a memory write and read over time."""

from collections.abc import Sequence

import numpy as np

from keras_attn.viz.readable_figure import ReadableFigure, drawable

MOST_LABELS = 48
"""Steps that get a label each."""
LEAST_SHARE = 0.02
"""Weight from which on a slot is drawn."""


def head_tracks_figure(write, read, steps: Sequence[str], answer_from: int) -> ReadableFigure:
    """A panel for each head, a row for each slot and a column for each step.

    Slots that no head ever has a weight of LEAST_SHARE for are left out at both ends.

    Args:
        write: float array (T, H, N), the weights of H write heads.
        read: float array (T, R, N).
        steps: T words.
        answer_from: first step of the answer, which a line marks.

    Raises:
        ValueError: shapes that do not match.

    Example:
        >>> head_tracks_figure(np.eye(3)[:, None], np.eye(3)[:, None], ["0", "1", "1"], 2).axes[0]
        <Axes: title={'center': 'write'}, ylabel='slot'>
    """
    write, read = np.asarray(write, "float32"), np.asarray(read, "float32")
    if write.ndim != 3 or read.ndim != 3 or not len(write) == len(read) == len(steps):
        raise ValueError(
            f"Expected weights (T, H, N) for {len(steps)} steps. "
            f"Received: shapes {write.shape} and {read.shape}"
        )
    tracks = _named("write", write) + _named("read", read)
    used = np.flatnonzero(np.max([track.max(axis=0) for _, track in tracks], axis=0) >= LEAST_SHARE)
    first, last = (int(used[0]), int(used[-1])) if len(used) else (0, write.shape[2] - 1)
    wide = min(2.0 + 0.2 * len(steps), 16.0)
    high = min(0.9 + 0.16 * (last - first + 1), 5.0)
    figure = ReadableFigure(figsize=(wide, 0.8 + high * len(tracks)), layout="constrained")
    axes = figure.subplots(len(tracks), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (name, track) in zip(axes, tracks):
        image = axis.imshow(
            track[:, first : last + 1].T,
            cmap="Blues",
            vmin=0,
            vmax=1,
            aspect="auto",
            extent=(-0.5, len(steps) - 0.5, last + 0.5, first - 0.5),
            interpolation="nearest",
        )
        axis.axvline(answer_from - 0.5, color="C1", linewidth=1)
        axis.set(title=name, ylabel="slot")
    if len(steps) <= MOST_LABELS:
        labels = [drawable(step) for step in steps]
        axes[-1].set_xticks(range(len(steps)), labels, rotation=90, fontsize=7)
    else:
        axes[-1].set(xlabel="step")
    figure.colorbar(image, ax=axes, label="weight", shrink=0.6)
    return figure


def _named(name, weights):
    """(name, float (T, N)) of each head; numbered if there are several."""
    count = weights.shape[1]
    return [
        (f"{name}, head {head + 1}" if count > 1 else name, weights[:, head])
        for head in range(count)
    ]

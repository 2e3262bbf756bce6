"""How the rate of a Transformer's decoding falls with the length of its answers.

Run as `python -m benchmarks.length_speed --peer-python PYTHON…`, as `transformer_speed`, whose
contenders and works of decoding these are, for answers of 16 to 1,024 tokens to 20 source tokens;
`--task shortest=512 longest=512 batch=4 units=256` takes other lengths, batches and widths. A table
for each work has target tokens a second by length, medians over the turns, and in brackets the
median over the turns of the contender's rate by keras-attn's. PICTURE shows the same.
"""

from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from benchmarks.race import Race, race_command
from benchmarks.timing import table
from benchmarks.transformer_speed import DECODE, contenders
from benchmarks.translation_task import DECODING, Task
from keras_attn.whole_file import made_folder

PICTURE = "length_speed.png"
"""Written into the working directory."""


@dataclass(frozen=True)
class LengthTask(Task):
    """The sizes of `Task`, but for `target`.

    Attributes:
        shortest, longest: int. Tokens of answers; the lengths between are twice the one before.
    """

    shortest: int = 16
    longest: int = 1024

    def __post_init__(self):
        if self.shortest < 1 or self.lengths[-1:] != [self.longest]:
            raise ValueError(
                "Expected longest as the double, the fourfold and so on of shortest. "
                f"Received: shortest={self.shortest}, longest={self.longest}"
            )

    @property
    def lengths(self) -> list[int]:
        """Of answers."""
        lengths = [self.shortest]
        while 0 < 2 * lengths[-1] <= self.longest:
            lengths.append(2 * lengths[-1])
        return lengths


def compare(task: LengthTask, options, folder) -> str:
    """A table for each work; weights are written to the folder, and PICTURE."""
    weights, rates, lengths = str(Path(folder) / "weights.npz"), {}, task.lengths
    np.savez(weights, **task.weights())
    task = Task(**{field.name: getattr(task, field.name) for field in fields(Task)})
    for length in lengths:
        place = made_folder(Path(folder) / str(length))
        chosen = contenders(place, weights)
        race = Race(replace(task, target=length), chosen, options, place)
        results = race.run({DECODE: DECODING})
        for work in results.seconds:
            for name, *_ in race.contenders:
                cells = rates.setdefault(work, {}).setdefault(name, [])
                cells.append(race.rate(results.seconds[work], work, name))
    draw(rates, lengths).savefig(PICTURE, dpi=110)
    head = ("what", *map(str, lengths))
    tables = {
        work: table(head, [[name, *cells] for name, cells in by_name.items()])
        for work, by_name in rates.items()
    }
    return "\n\n".join(f"{work}:\n\n{made}" for work, made in tables.items())


def draw(rates, lengths):
    """A panel for each work: milliseconds of a step by the length of the answer.

    Args:
        rates: dict from a work to one from each contender to its cells, such as "915 (0.98)".
        lengths: of the answers, in tokens.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * len(rates), 3.8), layout="constrained")
    panels = figure.subplots(1, len(rates), squeeze=False)[0]
    for panel, (work, by_name) in zip(panels, rates.items()):
        for name, cells in by_name.items():
            each = [1000 / float(cell.split(" ")[0].replace(",", "")) for cell in cells]
            panel.plot(lengths, each, marker="o", markersize=3, label=name)
        panel.set(title=work, xlabel="tokens of an answer", ylabel="ms for a token", ylim=(0, None))
    panels[0].legend(frameon=False)
    return figure


if __name__ == "__main__":
    race_command(__doc__, LengthTask, compare, repeats=3, works=DECODING)

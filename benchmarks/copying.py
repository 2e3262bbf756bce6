"""How far copying goes beyond the lengths of training, and learning curves.

Run as `python -m benchmarks.copying NTM=runs/ntm LSTM=runs/lstm --data generated:9 --out bench`,
names and run directories of `ntm_copy`. The table has the wrong bits of a sequence and, in
brackets, the share of sequences without an error, by length; `learning_curves.svg` has the cost of
a sequence of dev in bits by sequences trained on.
"""

import argparse
from pathlib import Path

from benchmarks.timing import table
from benchmarks.trainings import history
from keras_attn.whole_file import made_folder, whole_file
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.run import Run

LENGTHS = (10, 20, 30, 50, 80, 120)


def errors(runs, data, lengths) -> str:
    """The table.

    Args:
        runs: dict of `Run`s by name.
        data: as of `keras-attn evaluate`.
        lengths: ints.
    """
    rows = []
    for name, run in runs.items():
        scores = [evaluate(run, data, str(length)).scores for length in lengths]
        cells = [f"{each['wrong_bits']:.2f} ({100 * each['exact']:.0f}%)" for each in scores]
        rows.append([name, f"{run.model().count_params():,}", *cells])
    return table(("model", "parameters", *map(str, lengths)), rows)


def draw_curves(runs, path) -> None:
    """Learning curves; arguments as of `errors`, and the path of a picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    for name, run in runs.items():
        bits = history(run, "val_bits")
        count = run.experiment().source.sequences / 1000
        axis.plot([count * (epoch + 1) for epoch in range(len(bits))], bits, "o-", label=name)
    axis.set(xlabel="sequences, thousands", ylabel="cost in bits", yscale="symlog")
    axis.set_ylim(bottom=0)
    axis.legend()
    with whole_file(path) as partial:
        figure.savefig(partial, format=Path(path).suffix[1:])


def main(arguments=None) -> None:
    """Prints the table and draws the curves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="NAME=RUN", help="run directories")
    parser.add_argument("--data", default="generated:9", help="default: generated:9")
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, help="of sequences")
    parser.add_argument("--out", required=True, help="folder for the picture")
    given = parser.parse_args(arguments)
    runs = {name: Run(folder) for name, _, folder in (run.partition("=") for run in given.runs)}
    print(errors(runs, given.data, given.lengths))
    draw_curves(runs, made_folder(given.out) / "learning_curves.svg")


if __name__ == "__main__":
    main()

"""The demo's captioner with attention and without (context = h₀), trained side by side.

Run as `python -m benchmarks.attention_or_bottleneck --out FOLDER`. Prints one table: captions
exactly right on unseen scenes and on pairs of color and shape never seen, parameters, minutes.
"""

from pathlib import Path

from benchmarks.timing import table
from benchmarks.trainings import minutes_of, training_parser
from keras_attn_pipelines.demo.scenes import write_scenes
from keras_attn_pipelines.recipes.scenes import RECIPE
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.train import train

HEADS = "context", "parameters", "minutes", "unseen scenes", "pairs never seen"


def compare(out) -> str:
    """Trains both on the same scenes and returns the table."""
    data, rows = write_scenes(Path(out) / "scenes"), []
    for name, context in (("attention", "soft"), ("h₀", "bottleneck")):
        experiment = RECIPE.replaced({"context": context})
        run, minutes = minutes_of(train, experiment, data, Path(out) / context, "scenes")
        exact = [evaluate(run, data, split).scores["exact"] for split in ("test", "novel_pairs")]
        cells = [f"{run.model().count_params():,}", f"{minutes:.1f}"]
        rows.append([name, *cells, *(f"{share:.1%}" for share in exact)])
    return table(HEADS, rows)


if __name__ == "__main__":
    print(compare(training_parser(__doc__, "").parse_args().out))

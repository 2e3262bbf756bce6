"""The demo's captioner with attention and without (context = h₀), trained side by side.

Run as `python -m benchmarks.attention_or_bottleneck --out FOLDER`. Prints one table: captions
exactly right on unseen scenes and on pairs of color and shape never seen, parameters, minutes.
"""

import argparse
import time
from pathlib import Path

from keras_attn_pipelines.demo.scenes import write_scenes
from keras_attn_pipelines.recipes.scenes import RECIPE
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.train import train


def compare(out) -> str:
    """Trains both on the same scenes and returns the table."""
    data = write_scenes(Path(out) / "scenes")
    rows = ["| context | parameters | minutes | unseen scenes | pairs never seen |"]
    rows.append("| --- | --- | --- | --- | --- |")
    for name, context in (("attention", "soft"), ("h₀", "bottleneck")):
        experiment = RECIPE.replaced({"context": context})
        begin = time.monotonic()
        run = train(experiment, data, Path(out) / context, name="scenes")
        minutes = (time.monotonic() - begin) / 60
        exact = [evaluate(run, data, split).scores["exact"] for split in ("test", "novel_pairs")]
        shown = " | ".join(f"{share:.1%}" for share in exact)
        rows.append(f"| {name} | {run.model().count_params():,} | {minutes:.1f} | {shown} |")
    return "\n".join(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, help="new folder")
    print(compare(parser.parse_args().out))

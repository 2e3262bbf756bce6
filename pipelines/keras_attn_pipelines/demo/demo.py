"""The demo: captions photographs; then draws scenes, and trains, evaluates, exports and queries a
captioner.
"""

import json
import shutil
import time
from pathlib import Path
from typing import Any

from keras_attn.contracts import IMAGE
from keras_attn.evaluation.pointing import Looked, pointing_accuracy
from keras_attn.saved.inputs import in_words
from keras_attn.saved.loading import load
from keras_attn.saved.results import format_score
from keras_attn.saved.saved_model import Saved
from keras_attn.whole_file import check_folder, made_folder
from keras_attn_pipelines.demo.photographs import CAPTIONER, caption_photographs
from keras_attn_pipelines.demo.scenes import IMAGE_SIZE, write_scenes
from keras_attn_pipelines.experiment.evaluation import Evaluation
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.recipes.scenes import RECIPE
from keras_attn_pipelines.runs.evaluate import evaluate_splits
from keras_attn_pipelines.runs.export import export
from keras_attn_pipelines.runs.train import train

EXPERIMENT = RECIPE.replaced({"meteor": False})  # Java takes as long to start as the search.
KNOWS = (
    "The captioner knows people and dogs at play, mostly outdoors, and describes anything else as "
    "one of these: a pizza is a man in a blue shirt to it."
)
SPREAD = "Of the pairs never seen, seeds and machines differ: 45 to 69 % are exactly right."
SPLITS = {"test": "unseen scenes", "novel_pairs": "pairs never seen"}
ASKED = 5
MARK = ".keras-attn-demo"
"""Marker file in a demo's folder, which allows the next demo to replace its results."""
RESULTS = ("photographs", "scenes", "run", "saved_models", "attention.png", "scores.json")


def demo(out, experiment: Experiment = EXPERIMENT, **counts: Any) -> dict[str, dict[str, float]]:
    """Runs the demo and writes its results into a folder.

    Args:
        out: path of the folder, new or of an earlier demo, which is replaced.
        experiment: of the captioner.
        **counts: numbers of scenes, as in `write_scenes`.

    Returns:
        dict from split to its scores: those of `evaluate`, and "pointing".

    Raises:
        ValueError: the folder has files but is not a demo's.
    """
    out = Path(out)
    _make_room(out)
    try:
        return _results(out, experiment, counts)
    finally:  # What the next demo may remove.
        (out / MARK).write_text("".join(f"{name}\n" for name in _files_in(out)), encoding="utf-8")


def _results(out, experiment, counts):
    """Makes everything in an empty folder; returns the scores."""
    _photographs(out / "photographs")
    data = write_scenes(out / "scenes", **counts)
    begin = time.monotonic()
    run = train(experiment, data, out / "run", name="scenes")
    minutes = (time.monotonic() - begin) / 60
    print(f"\ntrained in {minutes:.1f} minutes; exporting")
    evaluations = evaluate_splits(run, data, list(SPLITS))
    version = export(run, out / "saved_models" / "scenes", list(evaluations.values()))
    captioner = load(version)
    scores = {
        split: {**evaluation.scores, "pointing": pointing(evaluation, data, captioner)}
        for split, evaluation in evaluations.items()
    }
    print(f"\n{table(scores)}\n{SPREAD}\n")
    print("Captions of unseen scenes, by the SavedModel:")
    pictures = _pictures(data, "test")[:ASKED]
    for path, answer in zip(pictures, captioner.predict(pictures)):
        print(f"{path}\t{format_score(answer.score)}\t{answer.text}")
    _explain(captioner, data, out / "attention.png")
    (out / "scores.json").write_text(json.dumps(scores, indent=2) + "\n", encoding="utf-8")
    print(f"\nWhere it looked: {out / 'attention.png'}\nSavedModel: {version}")
    return scores


def _photographs(out):
    """Captions photographs with the project's captioner, if it is available."""
    if not CAPTIONER.is_dir():
        print(f"No captioner at {CAPTIONER}, which a clone of the project has: no photographs.")
        return
    try:
        captions = caption_photographs(out)
    except ValueError as error:
        print(f"No photographs: {error}")
        return
    print("\nCaptions of photographs from installed packages:")
    for name, caption in captions.items():
        print(f"  {name:18}{caption}")
    print(f"Where each word looked: {out}\n{KNOWS}")
    print("\nNow a captioner from scratch, on drawn scenes:")


def pointing(evaluation: Evaluation, data, captioner: Saved) -> float:
    """`pointing_accuracy` of the SavedModel on the pictures of an evaluation."""
    described = json.loads((Path(data) / "scenes.json").read_text(encoding="utf-8"))
    pictures = _pictures(data, evaluation.split)
    encoded, view = [path.read_bytes() for path in pictures], captioner.views[0]
    answers = captioner.ask("explain", image=encoded)
    maps = [
        view.read(*row) for row in zip(answers, (in_words({IMAGE: one}, {}) for one in encoded))
    ]
    captions = {fact["image"]: fact["references"][0] for fact in evaluation.facts["captions"]}
    scenes = [
        {
            "words": captions[path.name].split(),
            "phrases": described[path.name]["phrases"],
            "boxes": [item["box"] for item in described[path.name]["objects"]],
        }
        for path in pictures
    ]
    return pointing_accuracy(
        [Looked(each.steps, each.weights[0, 0]) for each in maps], scenes, (IMAGE_SIZE, IMAGE_SIZE)
    )


def table(scores: dict[str, dict[str, float]]) -> str:
    """The demo's table: exact captions, pointing and BLEU-4 of each split."""
    rows = [
        f"| {SPLITS[split]} | {row['exact']:.1%} | {row['pointing']:.1%} | {row['bleu_4']:.1f} |"
        for split, row in scores.items()
    ]
    head = "| scenes | captions exactly right | pointing | BLEU-4 |\n| --- | --- | --- | --- |"
    return "\n".join([head, *rows])


def _make_room(out):
    """Creates a folder with the marker, or removes an earlier demo's results from it."""
    check_folder(out)
    names = sorted(entry.name for entry in out.iterdir()) if out.is_dir() else []
    if names and (MARK not in names or out.is_symlink()):
        raise ValueError(f"Expected a new folder, or a demo's. Received: {out} with {names[:5]}")
    written = (out / MARK).read_text(encoding="utf-8").splitlines() if names else []
    if strange := [name for name in _files_in(out) if name not in written]:
        raise ValueError(
            f"Expected only a demo's files in {out}, which the demo replaces; move others away, "
            f"or choose another folder with --out. Received: {', '.join(strange[:5])}"
        )
    for name in RESULTS:
        path = out / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    (made_folder(out) / MARK).touch()


def _files_in(out):
    """Paths of the files in a demo's folder but the marker, sorted."""
    paths = (path for path in out.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(str(path.relative_to(out)) for path in paths if path != out / MARK)


def _pictures(data, split):
    names = (Path(data) / f"{split}.txt").read_text(encoding="utf-8").split()
    return [Path(data) / "images" / name for name in names]


def _explain(captioner, data, out):
    """The attention picture of the first unseen scene with three objects."""
    described = json.loads((Path(data) / "scenes.json").read_text(encoding="utf-8"))
    pictures = _pictures(data, "test")
    most = max(len(described[path.name]["objects"]) for path in pictures)
    path = next(path for path in pictures if len(described[path.name]["objects"]) == most)
    captioner.explain(path).save(out)

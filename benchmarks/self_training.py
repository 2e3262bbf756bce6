"""A translator that also trains on its own translations of captions that nobody has translated.

    python -m benchmarks.self_training --data multi30k --captions flickr8k --out bench

FOLDER/captions.csv of `--captions` has columns `image` and `caption`. Trains a translator from
English to German, lets it translate the captions, and trains another one with both kinds of pairs;
this one goes on with the real pairs alone. Left out are captions that the training pairs have, and
those of pictures of which a held-out pair has a caption. Scores every run with the recipe's search.
Writes the table to FOLDER/table.md and prints it. Stopped, it goes on with the same command.

Source: He et al. 2020, "Revisiting self-training for neural sequence generation",
arXiv:1909.13788.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import trainings
from keras_attn_pipelines.recipes.translator_transformer import RECIPE
from keras_attn_pipelines.runs.evaluate import evaluate_splits
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.run_predictor import RunPredictor
from keras_attn_pipelines.runs.warm_start import WarmStart

NAME, HELD_OUT = "translator_transformer", ("dev", "test_2016_flickr")
LANGUAGES = ("en", "de")
VALUES = {
    "source_column": LANGUAGES[0],
    "target_column": LANGUAGES[1],
    "muon": 3.0,
    "normalization": "rms",
    "parallel": True,
    "warmup_steps": 400,
}
STAGES = {
    "teacher": {"epochs": 40},
    "student": {"epochs": 16},
    "tuned": {"epochs": 6, "learning_rate": 5e-4, "warmup_steps": 100},
}
"""Values of fields of each training beside `VALUES`, by name."""
SCORES = ("BLEU", "chrF")


def sentences(path: Path, known: Sequence[str], held_out: Sequence[str]) -> list[str]:
    """Captions that neither the training nor the held-out pairs have, as sentences.

    Args:
        path: of captions.csv.
        known: sources of the training pairs.
        held_out: sources of the others. A picture with a caption among them is left out.
    """
    captions = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            captions[row["image"]].append(row["caption"])
    others, chosen = set(map(_words, held_out)), dict[str, str]()
    for each in captions.values():
        if others.isdisjoint(map(_words, each)):
            chosen |= {_words(caption): _sentence(caption) for caption in each}
    for words in {"", *map(_words, known)}:
        chosen.pop(words, None)
    return list(chosen.values())


def compare(data, captions, out, values: dict[str, Any] | None = None, stages=STAGES) -> str:
    """Trains what has not been trained, and returns the table.

    Args:
        data: folder of the pairs.
        captions: folder of captions.csv.
        out: folder of the runs.
        values: values of fields in all trainings beside `VALUES`.
        stages: as `STAGES`.
    """
    out, usual = Path(out), {"name": NAME, "verbose": "auto"}
    recipe = RECIPE.replaced({**VALUES, **(values or {})})
    teacher, student, tuned = stages.values()
    runs = [trainings.ended_run(recipe.replaced(teacher), data, out / "teacher", **usual)]
    pairs = _mixed(runs[0], data, Path(captions, "captions.csv"), out)
    runs.append(trainings.ended_run(recipe.replaced(student), pairs, out / "student", **usual))
    source = WarmStart.read(runs[1].folder)
    adapted = source.adapted(recipe, tuned)
    runs.append(trainings.ended_run(adapted, data, out / "tuned", source=source, **usual))
    return trainings.write_table(out, ("model", "split", *SCORES), _rows(runs, data))


def _mixed(teacher: Run, data, captions: Path, out: Path) -> Path:
    """The folder of the pairs to train on, real ones and those of the teacher, and of dev's."""
    source, folder = teacher.experiment().source, out / "pairs"
    real = {name: source.split(data, name) for name in ("train", *HELD_OUT)}
    sources = {name: [pair.source for pair in pairs] for name, pairs in real.items()}
    held_out = [text for name in HELD_OUT for text in sources[name]]
    asked = sentences(captions, sources["train"], held_out)
    answers = trainings.recorded(out / "translations.json", _translations, teacher, asked)
    made = [pair for pair in zip(asked, answers, strict=True) if pair[1]]
    for name, more in (("train", made), ("dev", [])):
        pairs = [(pair.source, pair.target) for pair in real[name]] + more
        for language, texts in zip(LANGUAGES, zip(*pairs)):
            trainings.write(folder / f"{name}.{language}", "".join(f"{text}\n" for text in texts))
    return folder


def _translations(teacher, asked):
    return [answer.text for answer in RunPredictor(teacher).predict(asked)]


def _rows(runs, data):
    for run in runs:
        for split, measured in evaluate_splits(run, data, HELD_OUT, reuse=True).items():
            yield [run.folder.name, split, *(measured.cells[head] for head in SCORES)]


def _sentence(caption):
    """A caption of separate tokens as a sentence."""
    text = re.sub(r"\s+([.,;:!?])", r"\1", " ".join(caption.split()))
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _words(text):
    """The words of a text, by which captions are compared."""
    return " ".join(re.findall(r"\w+", text.lower()))


if __name__ == "__main__":
    parser = trainings.training_parser(__doc__, "folder of the pairs")
    parser.add_argument("--captions", required=True, help="folder with captions.csv")
    given = parser.parse_args()
    print(compare(given.data, given.captions, given.out))

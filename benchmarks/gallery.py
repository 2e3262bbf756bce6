"""The pictures of the gallery, from the bundled captioner and from quickly trained models.

Run as `python -m benchmarks.gallery --out FOLDER`, with the data of the models to show: `--pairs`
(sentences in English and German, such as Multi30k), `--treebank`, `--texts` (a text and a label in
each row, or folders), `--stories` (bAbI) and `--digits` (an .npz of digits). Writes the pictures to
FOLDER, and trains into FOLDER/runs: what has been trained there before is taken as it is. Epochs
are few, so that each model takes minutes on two CPU cores; `--epochs` gives all as many.
"""

import argparse
import dataclasses
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_attn.saved.loading import load
from keras_attn.whole_file import made_folder, whole_file
from keras_attn_pipelines.demo.photographs import CAPTIONER, caption_photographs
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.export import export
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.train import train

GENERATED = "generated:2"


@dataclasses.dataclass(frozen=True)
class Piece:
    """A picture of the gallery.

    Attributes:
        recipe: name.
        data: name of the argument with its data; None: they are generated.
        epochs: of a quick training.
        asked: what the model is asked to explain; None: its film is the picture.
        values: further field values.
        heads: as in `Saved.explain`.
    """

    recipe: str
    data: str | None
    epochs: int
    asked: str | None
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    heads: str | None = None


COLUMNS = {"source_column": "en", "target_column": "de"}
LOCAL = {**COLUMNS, "score": "multiplicative", "scope": "local-p"}
PAIR = "A man in a blue shirt is standing on a ladder cleaning a window."
TREE = "The cells grew slowly in the brain of the mouse ."
REVIEW = "A slow, clumsy film with one wonderful performance in it."
STORY = "Mary went to the garden. John went to the office. Mary took the milk. Where is the milk?"
BITS = "01101100 11110000 00000001 10101010 01110111 00011000"
GALLERY = {
    "alignment_recurrent.png": Piece("translator_rnn", "pairs", 4, PAIR, COLUMNS),
    "alignment_local.png": Piece("translator_rnn", "pairs", 4, PAIR, LOCAL),
    "alignment_convolutional.png": Piece("translator_conv", "pairs", 6, PAIR, COLUMNS, "cross"),
    "alignment.png": Piece("translator_transformer", "pairs", 8, PAIR, COLUMNS),
    "tree.png": Piece("parser_transformer", "treebank", 4, TREE),
    "shaded.png": Piece("text_classifier", "texts", 6, REVIEW),
    "hops.png": Piece("babi_memory_network", "stories", 20, STORY),
    "heads.png": Piece("ntm_copy", None, 8, BITS, {"seed": 2}),
    "digits.gif": Piece("digits_stn", "digits", 6, None),
}


def draw(
    out, data: Mapping[str, Any], epochs: int | None = None, gallery=None, sizes=None
) -> dict[str, str]:
    """Draws what there are data for.

    Args:
        out: folder of the pictures, and of the models in `runs` and `saved_models`.
        data: dict from "pairs", "treebank", "texts", "stories" and "digits" to paths, as far as
            there are any.
        epochs: of every model, or None for those of `GALLERY`.
        gallery: dict from the name of a file to a `Piece`; None: `GALLERY`.
        sizes: dict from the name of a recipe to further field values.

    Returns:
        dict from the names of the pictures to what the models answered.
    """
    out = made_folder(Path(out))
    answers = caption_photographs(out) if CAPTIONER.is_dir() else {}
    for name, piece in (GALLERY if gallery is None else gallery).items():
        if piece.data is not None and data.get(piece.data) is None:
            print(f"{name}: no --{piece.data}, no picture", flush=True)
            continue
        print(f"{name}: {piece.recipe}", flush=True)
        source = GENERATED if piece.data is None else data[piece.data]
        experiment = experiment_of(piece, (sizes or {}).get(piece.recipe, {}), epochs)
        answers[name] = _draw_piece(piece, experiment, source, out, name)
    return answers


def experiment_of(piece, values, epochs):
    """The experiment that trains the model of a `Piece`, with further field values."""
    recipe = load_recipe(piece.recipe)
    return recipe.replaced({**piece.values, **values, "epochs": epochs or piece.epochs})


def _draw_piece(piece, experiment, data, out, name):
    stem = Path(name).stem
    run, model = Run(out / "runs" / stem), out / "saved_models" / stem
    if not model.is_dir():
        run = train(experiment, data, run.folder, name=piece.recipe, verbose=2)
        export(run, model)
    if piece.asked is None:
        with whole_file(out / name) as partial:
            shutil.copyfile(run.folder / "film.gif", partial)
        return ""
    drawing = load(model).explain(piece.asked, heads=piece.heads)
    drawing.save(out / f"{stem}.png")
    return drawing.text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, help="folder of the pictures")
    names = sorted({piece.data for piece in GALLERY.values() if piece.data is not None})
    for name in names:
        parser.add_argument(f"--{name}", help="data of the models that need them")
    parser.add_argument("--epochs", type=int, help="epochs of every model")
    given = parser.parse_args()
    answers = draw(given.out, {name: getattr(given, name) for name in names}, given.epochs)
    for name, answer in answers.items():
        print(f"{name}: {answer}")

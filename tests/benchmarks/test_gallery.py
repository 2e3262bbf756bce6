"""The gallery's command draws what there are data for, and takes what has been trained."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from benchmarks import gallery
from tests.recipes.registry import BY_NAME

pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]


@pytest.mark.slow
def test_pictures(tmp_path, capsys):
    data = {"texts": BY_NAME["text_classifier"].data(tmp_path)}
    sizes = {"text_classifier": BY_NAME["text_classifier"].values}
    pieces = {**gallery.GALLERY}
    pieces["shaded.png"] = replace(pieces["shaded.png"], asked="A fine film.")
    for name in ("heads.png", "digits.gif"):
        del pieces[name]
    out = tmp_path / "out"
    answers = gallery.draw(out, data, 2, pieces, sizes)
    assert set(answers) == {"camera.png", "shaded.png"}
    assert answers["camera.png"].startswith("a ") and answers["shaded.png"]
    for name in answers:
        with Image.open(out / name) as picture:
            assert np.asarray(picture.convert("RGB")).std() > 1, name
    assert "tree.png: no --treebank, no picture" in capsys.readouterr().out
    changed = {path: path.stat().st_mtime_ns for path in out.glob("runs/*/model.keras")}
    assert len(changed) == 1
    assert gallery.draw(out, data, 2, pieces, sizes) == answers
    assert changed == {path: path.stat().st_mtime_ns for path in changed}


@pytest.mark.slow
def test_a_film(tmp_path):
    row = BY_NAME["digits_stn"]
    pieces = {"digits.gif": gallery.GALLERY["digits.gif"]}
    data = {"digits": row.data(tmp_path)}
    gallery.draw(tmp_path / "out", data, 2, pieces, {"digits_stn": row.values})
    with Image.open(tmp_path / "out" / "digits.gif") as film:
        assert film.n_frames == 3


def test_every_recipe_and_field_is_there():
    for piece in gallery.GALLERY.values():
        gallery.experiment_of(piece, {}, None)

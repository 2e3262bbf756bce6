"""The Python of the README and of the documentation's pages runs."""

import ast
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import keras_attn
from keras_attn_pipelines.demo.scenes import write_scenes
from tests.pages import FENCE, ROOT, blocks

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
NEEDS_A_TPU = {"train_on_tpu.ipynb"}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def cells(path):
    """The code of a notebook."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(page, part):
    """The names that the first block with a text defines."""
    names = {}
    exec(next(block for block in blocks(page) if part in block), names)
    return names


@pytest.mark.systems
def test_captioner_in_ten_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_scenes("demo/scenes", train=5, dev=3, test=2, novel=1)
    run("docs/tutorials/captioning.md", "prepare(recipe")
    assert (tmp_path / "saved_models" / "scenes" / "1" / "saved_model.pb").is_file()


def test_three_lines(tmp_path, monkeypatch):
    """The lines themselves; the captioner is a stand-in."""

    class Captioner:
        def predict(self, pictures):
            return [keras_attn.saved.Prediction(text=str(pictures))]

        def explain(self, picture):
            return keras_attn.saved.Drawing("a", Figure(), None)

        def explore(self, picture):
            return keras_attn.viz.explorer.ExplorerPage("a", (), ())

    class Figure:
        def savefig(self, file, format, dpi):
            file.write(format.encode())

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(keras_attn, "load", lambda folder: Captioner(), raising=False)
    run("README.md", "keras_attn.load")
    assert (tmp_path / "where.png").read_bytes() == b"png"
    assert (tmp_path / "where.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (ROOT / "saved_models" / "flickr8k_captioner").is_dir()


def test_one_layer_in_five_lines():
    context, weights = run("docs/quickstart.md", "AdditiveAttention")["model"].output
    assert tuple(context.shape) == (None, 2) and len(weights.shape) == 2


@pytest.mark.systems
def test_masks_travel_through_keras_sequential():
    model = run("README.md", "TransformerEncoderBlock")["model"]
    tokens = np.array([[5, 7, 0, 0], [11, 13, 17, 0]])
    padded = np.pad(tokens, [(0, 0), (0, 3)])
    np.testing.assert_allclose(model(tokens), model(padded), atol=1e-5)


@pytest.mark.systems
def test_models_that_generate():
    result = run("docs/mechanisms/transformer.md", "model.generate")["result"]
    assert tuple(result.tokens.shape) == (1, 1, 9)
    result = run("docs/tutorials/translation.md", "TransformerConfig")["result"]
    assert tuple(result.tokens.shape) == (2, 1, 9)
    result = run("docs/mechanisms/conv_seq2seq.md", "CONV_SEQ2SEQ_PRESETS")["result"]
    assert tuple(result.weights.shape) == (2, 1, 9, 4)


@pytest.mark.slow
def test_a_vision_transformer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run("docs/mechanisms/vision_transformer.md", "PictureHeads")
    assert tuple(names["vector"].shape) == (8, 16)
    assert (tmp_path / "rollout.png").is_file() and (tmp_path / "heads.png").is_file()
    page = blocks("docs/mechanisms/vision_transformer.md")
    exec(next(block for block in page if "GridPositions" in block), names)
    assert names["model"].output_shape == (None, 2)


@pytest.mark.slow
def test_clip(tmp_path, monkeypatch, capsys):
    """A caption is judged, pictures are found, and CLIP is fine-tuned in about 20 lines."""
    monkeypatch.chdir(tmp_path)
    data = write_scenes("my_pictures", train=11, dev=3, test=3, novel=2)
    shutil.copytree(ROOT / "tests/golden/dual_encoders/early", "clip-vit-base-patch32")
    shutil.copy(next((data / "images").iterdir()), "photo.jpg")
    page = "docs/tutorials/clip.md"
    assert 0 <= run(page, "clip_score(")["clip_score"]([[1.0]], [[1.0]])[0] <= 2.5
    capsys.readouterr()
    run(page, "argsort")
    assert len(capsys.readouterr().out.splitlines()) == 5
    (code,) = (block for block in blocks(page) if "ContrastiveLoss" in block)
    assert sum(map(lines_of, ast.parse(code).body)) < 20
    model = run(page, "ContrastiveLoss")["clip"].model
    assert model.optimizer.iterations > 0 and (tmp_path / "my_clip.keras").is_file()
    frozen = len(model.trainable_weights)
    model.enable_lora(2)
    assert len(model.trainable_weights) != frozen


def test_a_spatial_transformer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks("docs/mechanisms/spatial_transformer.md"):
        exec(block, names)
    assert (tmp_path / "film.gif").read_bytes().startswith(b"GIF")
    assert names["logits"].shape == (None, 10)


IMPORTS = (ast.Import, ast.ImportFrom)
SMALLER = {
    "20000": "200",
    "train=4000": "train=40",
    "train=320": "train=32",
    "dev=60, test=60": "dev=5, test=3",
    "epochs=10": "epochs=1",
    '"epochs": 4': '"epochs": 1',
}


def lines_of(statement):
    """How many lines a statement has; 0 for an import."""
    return len(ast.unparse(statement).splitlines()) * (not isinstance(statement, IMPORTS))


def smaller(code):
    """The code, with less data and fewer epochs."""
    for large, small in SMALLER.items():
        code = code.replace(large, small)
    return code


@pytest.mark.systems
@pytest.mark.parametrize(
    "name", [pytest.param("train_and_ask", marks=pytest.mark.slow), "layer_in_your_model"]
)
def test_the_cells_of_a_notebook_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for cell in cells(ROOT / "docs/notebooks" / f"{name}.ipynb"):
        exec(smaller(cell), names)
    names["plt"].close("all")


@pytest.mark.slow
def test_the_cells_of_the_tpu_notebook_run(tmp_path):
    """On a processor, in a process of their own: it chooses the backend."""
    code = "\n".join(cells(ROOT / "docs/notebooks/train_on_tpu.ipynb"))
    command = [sys.executable, "-c", smaller(code)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "test_0" in done.stdout, done.stderr[-3000:]


@pytest.mark.systems
@pytest.mark.parametrize(
    ("half", "page"),
    [pytest.param(0, "numbers.html", marks=pytest.mark.slow), (1, "scene.html")],
)
def test_fit_without_a_recipe(half, page, tmp_path, monkeypatch):
    """With less data and fewer epochs; each script has fewer than 30 lines beside its imports."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/tutorials/fit_without_a_recipe.md").read_text(encoding="utf-8")
    code = "\n".join(FENCE.findall(text.split("## A captioner")[half]))
    assert sum(map(lines_of, ast.parse(code).body)) < 30
    exec(smaller(code), {})
    assert (tmp_path / page).is_file() and list(tmp_path.glob("saved_models/*/1/saved_model.pb"))


def test_the_notebook_without_a_recipe_has_the_code_of_its_page():
    code = cells(ROOT / "docs/notebooks/fit_without_a_recipe.ipynb")
    for cell in code:
        compile(cell, "notebook", "exec")
    page = [block.rstrip() for block in blocks("docs/tutorials/fit_without_a_recipe.md")]
    assert [cell for cell in code if cell in page] == page


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_a_page(page):
    """Its Python compiles, and its links to files lead somewhere."""
    for source in blocks(page):
        compile(source, str(page), "exec")
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)", text)
    for link in links:
        assert link.startswith("http") or (page.parent / link).exists(), link


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook(path):
    """It can be read without running it, and names no folder of the machine that ran it."""
    text = path.read_text(encoding="utf-8")
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert len(text) < 400_000 and not re.search(r"/(tmp|work|home|root)/", text)
    assert not any("stderr" in output.values() for output in outputs)
    if path.name not in NEEDS_A_TPU:
        assert all(cell["execution_count"] for cell in cells)
        assert any("image/png" in output.get("data", ()) for output in outputs)


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200

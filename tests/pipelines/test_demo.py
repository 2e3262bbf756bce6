"""The whole demo, on a few scenes."""

import json
import re
import subprocess
import sys

import pytest
from PIL import Image

from keras_attn.serving.export import unservable_ops
from keras_attn.whole_file import digest_of
from keras_attn_pipelines.demo import demo as demo_module
from keras_attn_pipelines.demo.demo import demo
from keras_attn_pipelines.demo.photographs import (
    CAPTIONER,
    PHOTOGRAPHS,
    caption_photographs,
    photographs,
)
from keras_attn_pipelines.recipes.scenes import RECIPE
from keras_attn_pipelines.runs.saved_description import SavedDescription
from tests.serving.model_cards import digests_on_card

pytestmark = pytest.mark.systems


def test_demo(tmp_path, capfd):
    out = tmp_path / "demo"
    values = {"epochs": 1, "batch_size": 7, "hidden_dim": 5, "embedding_dim": 3, "beam_width": 2}
    scores = demo(out, RECIPE.replaced(values), train=29, dev=3, test=5, novel=2)
    assert list(scores) == ["test", "novel_pairs"]
    assert all({"exact", "pointing", "bleu_4"} <= set(score) for score in scores.values())
    assert json.loads((out / "scores.json").read_text()) == scores
    assert (out / "attention.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "saved_models" / "scenes" / "1" / "saved_model.pb").is_file()
    for path in photographs():
        with Image.open(out / "photographs" / f"{path.stem}.png") as image:
            assert image.width > 300
    printed = capfd.readouterr().out
    for path in photographs():
        assert re.search(rf"^  {path.name} +[a-z][a-z ]+\.$", printed, re.MULTILINE), path
    assert "| unseen scenes | " in printed and "| pairs never seen | " in printed
    assert sum(line.startswith(str(out / "scenes" / "images")) for line in printed.split("\n")) == 5


def test_the_command_is_quiet(tmp_path):
    (tmp_path / "mine").touch()
    command = [sys.executable, "-m", "keras_attn_pipelines.demo", "--out", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 2 and not ran.stdout
    assert ran.stderr.startswith("demo: ") and ran.stderr.count("\n") == 1


def test_without_the_captioner_the_demo_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo_module, "CAPTIONER", tmp_path / "nowhere")
    demo_module._photographs(tmp_path / "photographs")
    assert f"No captioner at {tmp_path / 'nowhere'}" in capsys.readouterr().out
    assert not (tmp_path / "photographs").exists()


def test_the_captioner_in_the_box():
    size = sum(path.stat().st_size for path in CAPTIONER.rglob("*") if path.is_file())
    assert size <= 25e6
    saved = SavedDescription.read(CAPTIONER)
    assert saved.metadata["storage"] == "float16" and saved.version.name == "1"
    assert not unservable_ops(saved.version)
    card = (CAPTIONER / "README.md").read_text()
    assert card == (saved.version / "README.md").read_text()
    assert digests_on_card(saved.version) == {
        path.relative_to(saved.version).as_posix(): digest_of(path)
        for path in saved.version.rglob("*")
        if path.is_file() and path.name != "README.md"
    }
    assert "## Use and limits" in card and "non-commercial" in card and "CIDEr-D" in card


def test_photographs_are_those_of_installed_packages(monkeypatch):
    assert [path.name for path in photographs()] == [path.split("/")[-1] for _, path in PHOTOGRAPHS]
    monkeypatch.setattr(
        "keras_attn_pipelines.demo.photographs.PHOTOGRAPHS", (("no_such_package", "a.png"),)
    )
    assert photographs() == []


def test_demo_replaces_a_demo_and_nothing_else(tmp_path):
    own = tmp_path / "mine" / "saved_models" / "precious"
    own.mkdir(parents=True)
    (own / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match=r"Expected a new folder.*saved_models"):
        demo(tmp_path / "mine")
    assert (own / "thesis.tex").read_text() == "years of work"
    with pytest.raises(ValueError, match=r"Expected a folder at .*Received: a file"):
        demo(own / "thesis.tex")
    old = tmp_path / "demo"
    demo_module._make_room(old)
    (old / "scenes").mkdir()
    demo_module._make_room(old)
    assert [entry.name for entry in old.iterdir()] == [demo_module.MARK]
    (tmp_path / "link").symlink_to(old)
    with pytest.raises(ValueError, match="Expected a new folder"):
        demo(tmp_path / "link")


def test_a_damaged_captioner_does_not_stop_the_demo(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo_module, "CAPTIONER", tmp_path)
    monkeypatch.setattr(
        demo_module, "caption_photographs", lambda out: caption_photographs(out, tmp_path)
    )
    demo_module._photographs(tmp_path / "photographs")
    assert "No photographs: Expected a SavedModel or numbered versions" in capsys.readouterr().out

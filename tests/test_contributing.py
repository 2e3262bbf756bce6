"""Files for contributors name what exists."""

import re
from pathlib import Path

import pytest
import yaml

from keras_attn.version import __version__

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
YAML = sorted([*(ROOT / ".github").rglob("*.yml"), ROOT / "CITATION.cff"])


@pytest.mark.parametrize(
    "path",
    sorted(set(re.findall(r"(?<![\w./])[\w.]+/[\w./]*(?![\w/-])", TEXT.replace(".venv/bin/", "")))),
)
def test_paths_exist(path):
    assert (ROOT / path).exists()


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_yaml(path):
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert content.get("version", __version__) == __version__
    for job in content.get("jobs", {}).values():
        for step in job["steps"]:
            assert "uses" in step or "run" in step
            target = re.match(r"make (\w+)", step.get("run", ""))
            assert target is None or f"\n{target[1]}:" in (ROOT / "Makefile").read_text()

"""What is drawn and printed of an answer is declared by its service alone."""

import ast
from pathlib import Path

import pytest

import keras_attn
import keras_attn_pipelines
from keras_attn import contracts
from keras_attn.saved import earlier
from keras_attn.serving import views

LIBRARY, PIPELINES = (
    Path(package.__file__).parent for package in (keras_attn, keras_attn_pipelines)
)
GENERIC = {
    *("ERROR", "IMAGE", "LABELS", "LABEL_SCORES", "SCORE", "TERMS", "TEXT"),  # Of every answer.
    *("SCORE_UNIT", "WITHOUT_VIEWS"),
    *("END_ID", "END_PIECE", "PAD_ID", "PLANNING_PIECE", "START_PIECE", "WORD_MARK"),
    *("CARD_FILE", "DEAD", "METADATA_FILE", "PICTURE_SUFFIXES", "SENTENCES"),
}
"""Names of contracts that say nothing about a task."""
DOORS = {
    "inputs.py": {"FACTS", "QUESTION", "SOURCE", "STORY"},
    "occlusion.py": {"TOKEN_SCORES"},  # What `score` says of each token.
    "earlier.py": {"FACTS", "IMAGE", "QUESTION", "SEQUENCE", "SOURCE", "STORY"},
    "attended_pair.py": {"ANSWER_PIECES", "CROSS_WEIGHTS", "SOURCE_PIECES"},
    "saved_model.py": {"SOURCE", "TARGET"},  # The two texts of `align`.
}
"""What modules at the door know besides: what is asked, and which views earlier exports had."""
NEWER = {"CONTRIBUTION_VIEWS", "CROP_VIEWS", "TRACED_VIEWS"}
"""Views of outputs that exports without declared views do not have."""
MODULES = sorted(
    path
    for folder in (LIBRARY / "saved", LIBRARY / "viz", PIPELINES / "saved")
    for path in folder.rglob("*.py")
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_module_behind_the_services_knows_a_task(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named = {
        alias.name for node in imported if node.module == contracts.__name__ for alias in node.names
    }
    assert named <= GENERIC | DOORS.get(path.name, set())
    assert not any("tasks" in (node.module or "") for node in imported)


def test_every_kind_of_service_of_earlier_exports_has_views():
    expected = {
        name: value
        for name, value in vars(views).items()
        if (name.endswith("_VIEWS") and name not in NEWER) or name in ("TRACKS", "LONGER_NOTE")
    }
    known = [view for _, declared in earlier.SERVICES for view in declared]
    for name, value in expected.items():
        declared = value if isinstance(value, tuple) else (value,)
        assert all(view in known for view in declared), name

"""No file that the packages read can run code: the calls that could are not in the source."""

import ast
from pathlib import Path

import pytest

from keras_attn.pretrained.plain_yaml import parse_yaml

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(
    path for package in ("keras_attn", "pipelines") for path in (ROOT / package).rglob("*.py")
)
MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
MODULES |= {"yaml"}
UNSAFE = {"enable_unsafe_deserialization", "unsafe_load", "allow_unsafe", "eval", "__import__"}
REQUIRED = {"load_model": ("safe_mode", True), "load": ("allow_pickle", False)}
"""Keyword that a call must give, by the function's name; `load` is NumPy's."""
PLAIN_YAML = "keras_attn/pretrained/plain_yaml.py"
UNPICKLER = "keras_attn/torch_state_dict.py"
RECIPE_FILE = "pipelines/keras_attn_pipelines/experiment/recipe_file.py"


def named(path):
    return path.relative_to(ROOT).as_posix()


def faults(tree):
    """What in a module could run code from a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
            yield from {module.split(".")[0] for module in modules} & MODULES
        if isinstance(node, ast.Call):
            yield from call_faults(node)


def call_faults(node):
    function = node.func
    name = getattr(function, "attr", getattr(function, "id", ""))
    owner = getattr(getattr(function, "value", None), "id", "")
    if (owner, name) == ("torch", "load"):
        yield "torch.load"
    if name in UNSAFE or (isinstance(function, ast.Name) and name == "exec"):
        yield name
    if name == "load_model" or (name == "load" and owner in ("np", "numpy")):
        keyword, wanted = REQUIRED[name]
        given = {word.arg: getattr(word.value, "value", None) for word in node.keywords}
        if given.get(keyword, "missing") is not wanted:
            yield f"{name} without {keyword}={wanted}"


def test_there_are_sources():
    assert {UNPICKLER, RECIPE_FILE} <= set(map(named, SOURCES)) and len(SOURCES) > 150


def test_nothing_that_could_run_a_files_code():
    """But for the unpickler of tensors, tested beside it, YAML without types, and the user's own
    recipe file."""
    found = {
        (named(path), fault)
        for path in SOURCES
        for fault in faults(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == {(UNPICKLER, "pickle"), (PLAIN_YAML, "yaml"), (RECIPE_FILE, "exec")}


def test_of_yaml_only_the_loader_of_plain_values_is_used():
    tree = ast.parse((ROOT / PLAIN_YAML).read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert used == {"load", "BaseLoader"}
    assert parse_yaml("a: !!python/object/apply:os.abort []\non: yes") == {"a": [], "on": "yes"}


def test_of_pickle_only_the_class_that_refuses_globals_is_used():
    tree = ast.parse((ROOT / UNPICKLER).read_text(encoding="utf-8"))
    used = [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "pickle"
    ]
    (unpickler,) = (
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and node.bases[:1]
        and ast.unparse(node.bases[0]) == "pickle.Unpickler"
    )
    assert used == ["Unpickler"]
    assert "find_class" in {part.name for part in unpickler.body if hasattr(part, "name")}


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("from pickle import load", "pickle"),
        ("torch.load(path)", "torch.load"),
        ("import yaml", "yaml"),
        ("np.load(path)", "load without allow_pickle=False"),
        ("np.load(path, allow_pickle=True)", "load without allow_pickle=False"),
        ("keras.saving.load_model(p, safe_mode=False)", "load_model without safe_mode=True"),
        ("keras.config.enable_unsafe_deserialization()", "enable_unsafe_deserialization"),
        ("exec(text)", "exec"),
    ],
)
def test_faults_are_seen(source, fault):
    assert set(faults(ast.parse(source))) == {fault}

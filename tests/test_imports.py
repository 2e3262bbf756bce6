"""`import keras_attn` alone reaches every public name and makes compiled models readable."""

import subprocess
import sys

import pytest

from keras_attn.models import Transformer
from keras_attn.training import ClippedAdam, InverseSquareRoot, TokenAccuracy, TokenCrossEntropy
from tests.models import tiny_transformer
from tests.processes import ROOT

PROGRAM = """
import sys
for name in ("tensorflow_text", "sentencepiece"):
    sys.modules[name] = None  # As where they are not installed.
import keras, keras_attn
for package in ("layers", "models", "decoding", "training", "ops", "evaluation"):
    names = getattr(keras_attn, package).__all__
    assert len(names) > 5 and all(getattr(getattr(keras_attn, package), one) for one in names)
model = keras.saving.load_model(sys.argv[1])
print(type(model).__name__, type(model.optimizer).__name__, model.optimizer.clip_norm)
"""


@pytest.mark.systems
def test_a_compiled_model_after_one_import_without_tensorflow_text(tmp_path):
    model = tiny_transformer.transformer()
    optimizer = ClippedAdam(InverseSquareRoot(0.1, 3), clip_norm=0.5)
    model.compile(optimizer, TokenCrossEntropy(), weighted_metrics=[TokenAccuracy()])
    path = tmp_path / "model.keras"
    model.save(path)
    command = [sys.executable, "-c", PROGRAM, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "Transformer ClippedAdam 0.5\n", done.stderr[-2000:]


def test_lazy_packages_have_their_names():
    import keras_attn

    for package in (keras_attn.serving, keras_attn.text, keras_attn.viz):
        for name in package.__all__:
            assert callable(getattr(package, name)), name
    assert keras_attn.models.Transformer is Transformer
    assert {"layers", "text"} <= set(dir(keras_attn))


def test_word_alignment_without_keras():
    program = """
import sys
sys.modules["keras"] = sys.modules["tensorflow"] = None  # As where they are not installed.
from keras_attn.alignment import Aligner
print(Aligner.train([["a"]], [["b"]]).align([["a"]], [["b"]]))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "[[(0, 0)]]\n", done.stderr[-2000:]


@pytest.mark.parametrize("asked", [["--help"], ["recipes"]])
def test_the_command_line_answers_at_once(asked):
    program = f"""
import sys
from keras_attn_pipelines.cli import main
try:
    main({asked!r})
except SystemExit:
    pass
sys.exit(str([name for name in ("keras", "tensorflow") if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr.strip() == "[]"

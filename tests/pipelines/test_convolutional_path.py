"""A convolutional translator from a folder of pairs to its SavedModel and pictures."""

import numpy as np
import pytest
from PIL import Image

from keras_attn.saved.loading import load
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.export import export
from keras_attn_pipelines.runs.train import train
from keras_attn_pipelines.tasks.seq2seq import Convolutional
from tests.pipelines.toy_language import TINY_CONVOLUTIONAL, write_folder

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

VALUES = {**TINY_CONVOLUTIONAL, "num_decoder_layers": 2, "positions": "sinusoidal", "tied": False}
VALUES |= {"vocabulary": "separate", "batch_tokens": 230, "epochs": 1, "monitor": "val_loss"}


VIEW = "Expected heads=cross for"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("convolutional")
    experiment = load_recipe("translator-conv").replaced(VALUES)
    run = train(experiment, write_folder(folder / "toy"), folder / "run", "toy", verbose=0)
    return export(run, folder / "saved_models" / "toy").parent


@pytest.fixture(scope="module")
def loaded(model):
    return load(model)


def test_attention_to_the_source_only(loaded):
    texts = [b"one two", b"", b"seven"]
    every = loaded.ask("attention", source=texts)
    for text, answer, explained in zip(texts, every, loaded.ask("explain", source=texts)):
        assert "encoder_weights" not in answer and "decoder_weights" not in answer
        cross, count = answer["cross_weights"], len(answer["pieces"])
        assert cross.shape[:2] == (2, 1) and cross.any() == bool(text)
        np.testing.assert_allclose(
            cross[:, 0].mean(axis=0), explained["weights"][0, :count], atol=1e-4
        )


def test_pictures(model, loaded, tmp_path):
    out = tmp_path / "heads.png"
    assert main(["explain", str(model), "one two", "--out", str(out), "--heads", "cross"]) == 0
    loaded.explain("one two").save(tmp_path / "alignment.png")
    for path in (out, tmp_path / "alignment.png"):
        with Image.open(path) as image:
            assert image.width > 200
    for wanted in ({"heads": "encoder"}, {"heads": "decoder"}, {"word": "one"}):
        with pytest.raises(ValueError, match=VIEW):
            loaded.explain("one two", **wanted)
    assert not (tmp_path / "none.png").exists()


def test_the_card_says_what_the_weights_are(model):
    card = (model / "README.md").read_text()
    assert "weights (attention to the source: mean over the decoder's 2 layers)" in card
    assert "a convolutional model of 2 + 2 layers, 13 channels" in card


def test_an_even_kernel_size():
    with pytest.raises(ValueError, match=r"Expected an odd kernel_size\. Received: kernel_size=4"):
        Convolutional(kernel_size=4)

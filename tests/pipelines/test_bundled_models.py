"""The bundled models: whole, known by name, and rebuilt from their metadata as their graphs are."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import keras_attn
from keras_attn.contracts import IMAGE, SCORE, TOKENS
from keras_attn.saved.bundled import model_folder
from keras_attn.serving.stored_shapes import same_numbers
from keras_attn.text.bracket_text import parse_tree
from keras_attn.text.trees import leaves
from keras_attn_pipelines.recipes.own_pictures_transformer import RECIPE
from keras_attn_pipelines.runs.warm_start import WarmStart

pytestmark = pytest.mark.systems

BUNDLED = Path(__file__).resolve().parents[2] / "saved_models"
FOLDER = BUNDLED / "flickr8k_captioner"
PHOTOGRAPHS = Path(__file__).resolve().parents[2] / "docs" / "pictures"


@pytest.mark.slow
def test_the_rebuilt_model_answers_as_the_graph():
    warm = WarmStart.read(FOLDER)
    experiment = warm.adapted(RECIPE, {})
    photograph = (PHOTOGRAPHS / "photograph.jpg").read_bytes()
    random = np.random.default_rng(3).integers(0, 256, (37, 41, 3)).astype("uint8")
    asked = tf.constant([photograph, tf.io.encode_png(random).numpy()])
    saved = tf.saved_model.load(str(warm.path)).signatures["explain"](**{IMAGE: asked})
    work, part = experiment.work, experiment.model
    service = work.service(warm.model, warm.vocabularies, part)
    function, signature = service.signatures()["explain"]
    rebuilt = tf.function(function, input_signature=signature, autograph=False)(asked)
    np.testing.assert_array_equal(rebuilt[TOKENS], saved[TOKENS])
    np.testing.assert_allclose(rebuilt[SCORE], saved[SCORE], atol=1e-4)


def rebuilt_answers(name, sentences):
    """What the model that is rebuilt from the metadata answers."""
    rebuilt = WarmStart.read(name)
    service = rebuilt.experiment.work.service(
        rebuilt.model, rebuilt.vocabularies, rebuilt.experiment.model
    )
    function, signature = service.signatures()["serving_default"]
    graph = tf.function(function, input_signature=signature, autograph=False)
    return graph(tf.constant(sentences))


def test_sentences_are_classified_by_name():
    sentences = ["a warm , funny film", "a dull , lifeless mess"]
    answers = keras_attn.load(model_folder("polarity")).predict(sentences)
    assert [answer.text for answer in answers] == ["positive", "negative"]
    scores = [answer.score for answer in answers]
    again = rebuilt_answers("polarity", sentences)
    np.testing.assert_allclose(again["scores"][:, 0], scores, atol=1e-4)


def test_sentences_are_parsed_by_name():
    sentences = ["The cells grew in the mouse brain .", "We found that they divide ."]
    answers = keras_attn.load(model_folder("craft_parser")).predict(sentences)
    trees = [parse_tree(answer.text) for answer in answers]
    assert [[leaf.word for leaf in leaves(tree)] for tree in trees] == list(
        map(str.split, sentences)
    )
    assert all("(NP (" in answer.text and "(VP (" in answer.text for answer in answers)


def test_sentences_are_translated_by_name():
    sentences = ["Two dogs are playing in the snow.", "A man in a red shirt rides a bicycle."]
    answers = keras_attn.load(model_folder("multi30k_en_de")).predict(sentences)
    texts = ["Zwei Hunde spielen im Schnee.", "Ein Mann in einem roten Hemd fährt Fahrrad."]
    assert [answer.text for answer in answers] == texts
    again = rebuilt_answers("multi30k_en_de", sentences)
    assert [text.decode() for text in again["text"][:, 0].numpy()] == texts
    scores = [answer.score for answer in answers]
    np.testing.assert_allclose(again["score"][:, 0], scores, atol=1e-4)


NAMES = sorted(path.stem for path in BUNDLED.glob("*.md"))


def test_the_bundled_models_are_found():
    assert {"flickr8k_captioner", "polarity", "craft_parser", "multi30k_en_de"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_files_are_those_that_the_card_lists(name):
    for folder in sorted((BUNDLED / name).glob("[0-9]*")):
        listed = re.findall(
            r"^([0-9a-f]{64})  (.+)$", (folder / "README.md").read_text(encoding="utf-8"), re.M
        )
        files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        assert files == {file for _, file in listed} | {"README.md"}
        for digest, file in listed:
            assert hashlib.sha256((folder / file).read_bytes()).hexdigest() == digest, file
    size = sum(path.stat().st_size for path in (BUNDLED / name).rglob("*") if path.is_file())
    assert size < (25e6 if name == FOLDER.name else 10e6)
    assert "## Use and limits" in (BUNDLED / name / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("shape", "stored"), [((2, 3), (3, 2)), ((2, 3, 5), (10, 3)), ((7,), (8,))]
)
def test_weights_in_another_order_are_others(shape, stored):
    assert not same_numbers(shape, stored) and not same_numbers(stored, shape)

"""A classifier that has learned a lexicon: its pictures say what each word is worth."""

import keras
import numpy as np
import pytest

import keras_attn
from keras_attn.layers import AdditiveAttention, AttentionPooling
from keras_attn.models import TextClassifier
from keras_attn.serving import LabelService, classifier_functions, export_service
from keras_attn.serving.readers import TextReader
from keras_attn.serving.views import CONTRIBUTION_VIEWS
from keras_attn.serving.writers import LabelWriter
from keras_attn.text.label_table import LabelTable
from keras_attn.text.tokenizer import Tokenizer

pytestmark = pytest.mark.systems

GOOD, BAD = ("fine", "lovely", "great"), ("dull", "awful", "boring")
OTHER = ("the", "film", "is", "a", "plot", "and", "cast", "story")
MIXED = "the fine cast and a lovely great but dull story"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The exported service of a classifier of texts with more good words than bad, or fewer."""
    keras.utils.set_random_seed(3)
    random, texts, labels = np.random.default_rng(3), [], []
    while len(texts) < 1500:
        words = random.choice([*GOOD, *BAD, *OTHER * 2], 7)
        worth = np.isin(words, GOOD).sum() - np.isin(words, BAD).sum()
        if worth:
            texts.append(" ".join(words))
            labels.append(int(worth > 0))
    tokenizer = Tokenizer.learn(texts, 330)
    pooling = AttentionPooling(AdditiveAttention(8))
    model = TextClassifier(tokenizer.vocabulary_size, 2, None, pooling, 16, dropout=0.0)
    reader = TextReader(tokenizer, 40)
    tokens = reader.read(np.array(texts, object)).features["source"]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.02), loss, metrics=["accuracy"])
    history = model.fit(tokens, np.array(labels), 50, epochs=6, verbose=0).history
    assert history["accuracy"][-1] > 0.97
    names = LabelTable(["bad", "good"])
    ways = classifier_functions.text_functions(model)
    vocabularies = {"tokenizer": tokenizer, "labels": names}
    service = LabelService(
        model, reader, LabelWriter(names), ways, vocabularies, CONTRIBUTION_VIEWS
    )
    folder = tmp_path_factory.mktemp("exported") / "lexicon"
    export_service(service, folder, "card")
    return keras_attn.load(folder)


def test_words_count_by_the_lexicon_and_leaving_them_out_agrees(saved):
    drawing = saved.explain(MIXED)
    assert drawing.text == "good" and drawing.data.quantity.signed
    worth = dict(zip(drawing.data.words, drawing.data.weights))
    assert list(worth) == MIXED.split()
    lexicon = {word: np.sign((word in GOOD) - (word in BAD)) for word in worth}
    opinions = [word for word in worth if lexicon[word]]
    assert all(np.sign(worth[word]) == lexicon[word] for word in opinions), worth
    others = [abs(worth[word]) for word in ("the", "cast", "and", "a", "story")]
    assert max(others) < min(abs(worth[word]) for word in opinions), worth
    falls = saved.explain(MIXED, by="occlusion").data
    assert falls.words == drawing.data.words
    left_out = dict(zip(falls.words, falls.weights))
    assert all(np.sign(left_out[word]) == np.sign(worth[word]) for word in opinions), left_out


def test_the_label_against_which_a_word_speaks(saved):
    view = saved.explain("the plot is dull and boring, fine cast").data
    worth = dict(zip(view.words, view.weights))
    assert worth["dull"] > 0 > worth["fine"]


def test_attention_is_the_second_view(saved):
    first, second = saved.explore(MIXED).views
    assert first.quantity.signed and not second.quantity.signed
    shares = saved.explain(MIXED, heads="attention").data.weights
    np.testing.assert_array_equal(shares, second.weights)
    assert 0.5 < shares.sum() <= 1.001 and "</s>" not in second.words

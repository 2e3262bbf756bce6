"""Regression: a number from a line of text.

Data: a folder with train.tsv, dev.tsv and test.tsv, UTF-8. Each line is a number, a tab and a text,
such as "4.5<tab>a warm and funny film".

    keras-attn train my_task.py --data ratings --out runs/ratings
    keras-attn evaluate runs/ratings --data ratings --split test
    keras-attn export runs/ratings saved_models/ratings
    keras-attn predict saved_models/ratings "a warm and funny film"
"""

from pathlib import Path
from typing import ClassVar

import keras
import numpy as np
import tensorflow as tf

from keras_attn.contracts import (
    ERROR,
    SCORE,
    SCORE_UNIT,
    SOURCE,
    SOURCE_PIECES,
    TEXT,
    UNKNOWN_ID,
)
from keras_attn.layers import AdditiveAttention, AttentionPooling
from keras_attn.serving import FunctionService
from keras_attn.text import SymbolTable
from keras_attn.viz.declared import Matrix, Note, Strings
from keras_attn_pipelines import experiment
from keras_attn_pipelines.data import ArrayExamples, Batches

RATING, ERROR_NAME = "rating", "mean_absolute_error"


@experiment.part
class RatedLines:
    """Files train.tsv, dev.tsv and so on, a number, a tab and a text on each line."""

    unit: ClassVar = "lines"
    records: ClassVar = "ratings"

    def read(self, data):
        return experiment.Records({name: self.split(data, name) for name in ("train", "dev")})

    def split(self, data, name):
        lines = Path(data, f"{name}.tsv").read_text("utf-8").splitlines()
        pairs = [line.split("\t", 1) for line in lines if line]
        return [(float(rating), text) for rating, text in pairs]


@experiment.part
class Ratings:
    """Ratings of lines."""

    spec: ClassVar = experiment.TaskSpec(
        records="ratings",
        targets=(RATING,),
        accuracy=ERROR_NAME,
        best_possible={ERROR_NAME: 0},
    )
    words: int = experiment.option("number of words read per line", default=47, least=1)

    def features(self):
        return {SOURCE: experiment.Feature((self.words,))}

    def work(self):
        return self

    def vocabulary_types(self):
        return {"words": SymbolTable}

    def learn(self, records):
        words = sorted({word for _, text in records for word in text.split()})
        return {"words": SymbolTable(words)}

    def encode(self, records, vocabularies, setting):
        def batches(name):
            ratings, texts = zip(*records.splits[name])
            arrays = {SOURCE: self.ids(vocabularies, tf.constant(texts)).numpy()}
            arrays[RATING] = np.array(ratings, "float32")[:, None]
            return Batches(ArrayExamples(arrays), setting.fit.batch_size, arrange, setting.fit.seed)

        def arrange(features, step):
            targets, weights = {RATING: features[RATING]}, {RATING: features["weight"]}
            return features[SOURCE], targets, weights

        train, dev = batches("train"), batches("dev").dataset()
        return experiment.TrainingData(records.splits, train.training, dev, train.steps)

    def objective(self, model, data, steps, seed):
        loss = keras.losses.MeanSquaredError("mean_with_sample_weight")
        metric = keras.metrics.MeanAbsoluteError(ERROR_NAME)
        return experiment.Objective(model, {RATING: loss}, {RATING: [metric]})

    def callbacks(self, model, data, setting, folder):
        return experiment.Callbacks()

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        pooling = model.get_layer("pooling").output
        attention = keras.Model(model.input, [model.output[RATING], pooling[1]])

        def explain(source):
            ids = self.ids(vocabularies, source)
            rating, weights = attention(ids, training=False)
            words = tf.strings.split(source).to_tensor(shape=(None, self.words))
            unknown = tf.math.count_nonzero(ids == UNKNOWN_ID, axis=1, dtype=tf.int32)
            outputs = {SOURCE_PIECES: words, "weights": weights, "unknown": unknown}
            text = tf.strings.as_string(rating, precision=2)
            return {TEXT: text, SCORE: rating, ERROR: tf.zeros_like(source), **outputs}

        views = [Matrix("weights", Strings(SOURCE_PIECES), name="Weight of each word")]
        views += [Note("unknown", "{count} words are unknown", singular="one word is unknown")]
        served, notes = (TEXT, SCORE, "unknown"), {SCORE_UNIT: "points"}
        return FunctionService(model, vocabularies, explain, served, views, notes=notes)

    def request(self, record):
        return experiment.Request.of_text(record[1])

    def evaluation(self, records, answers, vocabularies, metadata):
        ratings = np.array([rating for rating, _ in records])
        error = float(np.mean(np.abs([answer[SCORE][0] for answer in answers] - ratings)))
        scores, cells = {ERROR_NAME: error}, {"mean absolute error": f"{error:.3f}"}
        return experiment.Evaluation(scores, cells, count=len(records), unit="lines")

    def card(self, service, description):
        return {"What it does": f"Rates lines of text: {description}."}

    def ids(self, vocabularies, texts):
        return vocabularies["words"].encode(texts).to_tensor(shape=(None, self.words))


@experiment.part
class PooledRegression:
    """Words pooled by additive attention, and a number."""

    reads: ClassVar[tuple[str, ...]] = (SOURCE,)
    answers: ClassVar[tuple[str, ...]] = (RATING,)
    hidden_dim: int = experiment.option("width of embeddings and attention", default=32, least=1)

    def build(self, features, vocabulary_sizes, seed):
        keras.utils.set_random_seed(seed)
        source = keras.Input(features[SOURCE].shape, dtype="int32")
        count, width = vocabulary_sizes["words"], self.hidden_dim
        words = keras.layers.Embedding(count, width, mask_zero=True)(source)
        pooling = AttentionPooling(AdditiveAttention(width), name="pooling")
        pooled, _ = pooling(words, return_attention_scores=True)
        outputs = {RATING: keras.layers.Dense(1)(pooled)}
        return experiment.Built(keras.Model(source, outputs), "words pooled by additive attention")


RECIPE = experiment.Experiment(source=RatedLines(), task=Ratings(), model=PooledRegression())

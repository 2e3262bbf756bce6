"""Topic classification of lines of text.

Data: a folder with train.tsv, dev.tsv and test.tsv, UTF-8. Each line is a label, a tab and a text,
such as "sport<tab>the striker scored twice".

    keras-attn train my_task.py --data topics --out runs/topics --monitor val_accuracy
    keras-attn evaluate runs/topics --data topics --split test
    keras-attn export runs/topics saved_models/topics
    keras-attn predict saved_models/topics "the striker scored twice"
"""

from pathlib import Path
from typing import ClassVar

import keras
import numpy as np
import tensorflow as tf

from keras_attn.contracts import ERROR, SCORE, SOURCE, SOURCE_PIECES, TEXT, UNKNOWN_ID
from keras_attn.layers import AdditiveAttention
from keras_attn.serving import FunctionService
from keras_attn.text import LabelTable, SymbolTable
from keras_attn.training import TokenAccuracy, TokenCrossEntropy
from keras_attn.viz.declared import Matrix, Note, Strings
from keras_attn_pipelines import experiment
from keras_attn_pipelines.data import ArrayExamples, Batches


@experiment.part
class TopicLines:
    """Files train.tsv, dev.tsv and so on, a label, a tab and a text on each line."""

    unit: ClassVar = "lines"
    records: ClassVar = "topics"

    def read(self, data):
        return experiment.Records({name: self.split(data, name) for name in ("train", "dev")})

    def split(self, data, name):
        lines = Path(data, f"{name}.tsv").read_text("utf-8").splitlines()
        return [line.split("\t", 1) for line in lines if line]


@experiment.part
class Topics:
    """Topic classification."""

    spec: ClassVar = experiment.TaskSpec(records="topics", accuracy="accuracy")
    words: int = experiment.option("number of words read per line", default=23, least=1)

    def features(self):
        return {SOURCE: experiment.Feature((self.words,))}

    def work(self):
        return self

    def vocabulary_types(self):
        return {"words": SymbolTable, "labels": LabelTable}

    def learn(self, records):
        words = sorted({word for _, text in records for word in text.split()})
        return {"words": SymbolTable(words), "labels": LabelTable(sorted({a for a, _ in records}))}

    def encode(self, records, vocabularies, setting):
        def batches(name):
            labels, texts = zip(*records.splits[name])
            y = np.array([vocabularies["labels"].id_of(label) for label in labels], "int32")
            arrays = {SOURCE: self.ids(vocabularies, tf.constant(texts)).numpy(), "y": y}
            return Batches(ArrayExamples(arrays), setting.fit.batch_size, arrange, setting.fit.seed)

        def arrange(features, step):
            return features[SOURCE], features["y"], features["weight"]

        train, dev = batches("train"), batches("dev").dataset()
        return experiment.TrainingData(records.splits, train.training, dev, train.steps)

    def objective(self, model, data, steps, seed):
        return experiment.Objective(model, TokenCrossEntropy(), [TokenAccuracy("accuracy")])

    def callbacks(self, model, data, setting, folder):
        return experiment.Callbacks()

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        attention = keras.Model(model.input, [model.output, model.get_layer("attention").output[1]])

        def explain(source):
            ids = self.ids(vocabularies, source)
            logits, weights = attention(ids, training=False)
            score, best = tf.math.top_k(tf.nn.softmax(logits))
            words = tf.strings.split(source).to_tensor(shape=(None, self.words))
            unknown = tf.math.count_nonzero(ids == UNKNOWN_ID, axis=1, dtype=tf.int32)
            outputs = {SOURCE_PIECES: words, "weights": weights, "unknown": unknown}
            labels = vocabularies["labels"].pieces(best)
            return {TEXT: labels, SCORE: score, ERROR: tf.zeros_like(source), **outputs}

        views = [Matrix("weights", Strings(SOURCE_PIECES), name="Weight of each word")]
        views += [Note("unknown", "{count} words are unknown", singular="one word is unknown")]
        return FunctionService(model, vocabularies, explain, (TEXT, SCORE, "unknown"), views)

    def request(self, record):
        return experiment.Request(record[1], {SOURCE: record[1].encode()}, len(record[1]))

    def evaluation(self, records, answers, vocabularies, metadata):
        right = [answer[TEXT][0].decode() == label for (label, _), answer in zip(records, answers)]
        scores, cells = {"accuracy": float(np.mean(right))}, {"accuracy": f"{np.mean(right):.1%}"}
        return experiment.Evaluation(scores, cells, count=len(records), unit="lines")

    def card(self, service, description):
        return {"What it does": f"Classifies lines by topic: {description}."}

    def ids(self, vocabularies, texts):
        return vocabularies["words"].encode(texts).to_tensor(shape=(None, self.words))


@experiment.part
class AttentionPooling:
    """Words pooled by additive attention."""

    reads: ClassVar[tuple[str, ...]] = (SOURCE,)
    answers: ClassVar[tuple[str, ...]] = ("logits",)
    hidden_dim: int = experiment.option("width of embeddings and attention", default=32, least=1)

    def build(self, features, vocabulary_sizes, seed):
        keras.utils.set_random_seed(seed)
        source = keras.Input(features[SOURCE].shape, dtype="int32")
        count, width = vocabulary_sizes["words"], self.hidden_dim
        words = keras.layers.Embedding(count, width, mask_zero=True)(source)
        attention = AdditiveAttention(width, name="attention")
        mean = keras.layers.GlobalAveragePooling1D()(words)
        context, _ = attention(mean, words, return_attention_scores=True)
        logits = keras.layers.Dense(vocabulary_sizes["labels"])(context)
        return experiment.Built(keras.Model(source, logits), "words pooled by additive attention")


RECIPE = experiment.Experiment(source=TopicLines(), task=Topics(), model=AttentionPooling())

"""Tagging of each word of a line.

Data: a folder with train.tsv, dev.tsv and test.tsv, UTF-8. Each line is words, a tab and as many
tags, such as "the striker scored<tab>DET NOUN VERB".

    keras-attn train my_task.py --data tags --out runs/tags --monitor val_accuracy
    keras-attn evaluate runs/tags --data tags --split test
    keras-attn export runs/tags saved_models/tags
    keras-attn predict saved_models/tags "the striker scored"
"""

from pathlib import Path
from typing import ClassVar

import keras
import numpy as np
import tensorflow as tf

from keras_attn.contracts import ERROR, PAD_ID, SCORE, SOURCE, SOURCE_PIECES, TEXT, UNKNOWN_ID
from keras_attn.layers import SinusoidalPositions, TransformerEncoderBlock
from keras_attn.serving import FunctionService
from keras_attn.text import LabelTable, SymbolTable
from keras_attn.training import TokenAccuracy, TokenCrossEntropy
from keras_attn.viz.declared import Heads, Note, Strings
from keras_attn_pipelines import experiment
from keras_attn_pipelines.data import ArrayExamples, Batches


@experiment.part
class TaggedLines:
    """Files train.tsv, dev.tsv and so on, words, a tab and as many tags on each line."""

    unit: ClassVar = "lines"
    records: ClassVar = "tagged lines"

    def read(self, data):
        return experiment.Records({name: self.split(data, name) for name in ("train", "dev")})

    def split(self, data, name):
        lines = Path(data, f"{name}.tsv").read_text("utf-8").splitlines()
        return [self.record(line) for line in lines if line]

    def record(self, line):
        words, _, tags = line.partition("\t")
        if len(words.split()) != len(tags.split()):
            raise ValueError(f"Expected a tag for each word. Received: {line!r:.80}")
        return words, tags


@experiment.part
class Tagging:
    """Tagging of words."""

    spec: ClassVar = experiment.TaskSpec(records="tagged lines", accuracy="accuracy")
    words: int = experiment.option("number of words read per line", default=47, least=1)

    def features(self):
        return {SOURCE: experiment.Feature((self.words,))}

    def work(self):
        return self

    def vocabulary_types(self):
        return {"words": SymbolTable, "tags": LabelTable}

    def learn(self, records):
        words, tags = ({name for line in side for name in line.split()} for side in zip(*records))
        return {"words": SymbolTable(sorted(words)), "tags": LabelTable(sorted(tags))}

    def encode(self, records, vocabularies, setting):
        def batches(name):
            words, tags = zip(*records.splits[name])
            y = np.zeros((len(tags), self.words), "int32")
            for row, line in zip(y, tags):
                ids = [vocabularies["tags"].id_of(tag) for tag in line.split()[: self.words]]
                row[: len(ids)] = ids
            arrays = {SOURCE: self.ids(vocabularies, tf.constant(words)).numpy(), "y": y}
            return Batches(ArrayExamples(arrays), setting.fit.batch_size, arrange, setting.fit.seed)

        def arrange(features, step):
            real = tf.cast(features[SOURCE] != PAD_ID, tf.float32)
            return features[SOURCE], features["y"], real * features["weight"][:, None]

        train, dev = batches("train"), batches("dev").dataset()
        return experiment.TrainingData(records.splits, train.training, dev, train.steps)

    def objective(self, model, data, steps, seed):
        return experiment.Objective(model, TokenCrossEntropy(), [TokenAccuracy("accuracy")])

    def callbacks(self, model, data, setting, folder):
        return experiment.Callbacks()

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        weights = model.get_layer("encoder").output[1]
        attention = keras.Model(model.input, [model.output, weights])

        def explain(source):
            ids = self.ids(vocabularies, source)
            logits, weights = attention(ids, training=False)
            real = ids != PAD_ID
            best = tf.argmax(logits, axis=-1, output_type=tf.int32)
            tags = tf.where(real, vocabularies["tags"].pieces(best), "")
            scores = tf.reduce_max(tf.nn.log_softmax(logits), axis=-1)
            score = tf.reduce_sum(tf.where(real, scores, 0.0), axis=-1, keepdims=True)
            text = tf.strings.strip(tf.strings.reduce_join(tags, axis=-1, separator=" "))
            words = tf.strings.split(source)
            error = tf.where(words.row_lengths() > self.words, f"more than {self.words} words", "")
            unknown = tf.math.count_nonzero(ids == UNKNOWN_ID, axis=1, dtype=tf.int32)
            pieces = words.to_tensor(shape=(None, self.words))
            outputs = {SOURCE_PIECES: pieces, "weights": weights[:, None], "unknown": unknown}
            return {TEXT: text[:, None], SCORE: score, ERROR: error, **outputs}

        words = Strings(SOURCE_PIECES, "words")
        views = [Heads("weights", words, words, name="What each word attends to")]
        views += [Note("unknown", "{count} words are unknown", singular="one word is unknown")]
        return FunctionService(model, vocabularies, explain, (TEXT, SCORE, "unknown"), views)

    def request(self, record):
        return experiment.Request.of_text(record[0])

    def evaluation(self, records, answers, vocabularies, metadata):
        right = [
            answered == tag
            for (_, tags), answer in zip(records, answers)
            for answered, tag in zip(answer[TEXT][0].decode().split(), tags.split())
        ]
        scores, cells = {"accuracy": float(np.mean(right))}, {"accuracy": f"{np.mean(right):.1%}"}
        return experiment.Evaluation(scores, cells, count=len(records), unit="lines")

    def card(self, service, description):
        return {"What it does": f"Tags each word of a line: {description}."}

    def ids(self, vocabularies, texts):
        return vocabularies["words"].encode(texts).to_tensor(shape=(None, self.words))


@experiment.part
class Encoder:
    """A Transformer encoder block, and a tag for each word."""

    reads: ClassVar[tuple[str, ...]] = (SOURCE,)
    answers: ClassVar[tuple[str, ...]] = ("logits",)
    hidden_dim: int = experiment.option("width of embeddings and attention", default=32, least=4)
    num_heads: int = experiment.option("number of attention heads", default=2, least=1)

    def build(self, features, vocabulary_sizes, seed):
        keras.utils.set_random_seed(seed)
        source = keras.Input(features[SOURCE].shape, dtype="int32")
        count, width = vocabulary_sizes["words"], self.hidden_dim
        words = keras.layers.Embedding(count, width, mask_zero=True)(source)
        heads, key_dim = self.num_heads, -(-width // self.num_heads)
        block = TransformerEncoderBlock(heads, key_dim, None, 2 * width, name="encoder")
        outputs, _ = block(SinusoidalPositions()(words), return_attention_scores=True)
        logits = keras.layers.Dense(vocabulary_sizes["tags"])(outputs)
        return experiment.Built(keras.Model(source, logits), "a Transformer encoder block")


RECIPE = experiment.Experiment(source=TaggedLines(), task=Tagging(), model=Encoder())

"""The service of algorithmic problems: a problem in, its answer and the heads' weights out."""

import tensorflow as tf

from keras_attn.contracts import (
    END_PIECE,
    ERROR,
    LONGER,
    PLANNING_PIECE,
    READ_WEIGHTS,
    SCORE,
    SEQUENCE,
    STEPS,
    TEXT,
    WRITE_WEIGHTS,
)
from keras_attn.layers.memory_rnn import MemoryRNN
from keras_attn.serving.answers import first_reason
from keras_attn.serving.empty_batch import accepts_empty_batch
from keras_attn.serving.sources import EMPTY, text_reasons
from keras_attn.text.sequence_forms import FORMS


class SequenceService(tf.Module):
    """A recurrent network that answers algorithmic problems, with its reader and writer.

    Args:
        model: Keras model, float (B, T, E) to logits (B, T, O); one layer is a `MemoryRNN`, which
            returns the logits, or none is.
        source_words: `SourceWords`.
        answer_words: `AnswerWords`.

    Raises:
        ValueError: widths that are not the model's.
    """

    def __init__(self, model, source_words, answer_words):
        super().__init__()
        widths = source_words.vocabulary_size, answer_words.vocabulary_size
        expected = model.input_shape[-1], model.output_shape[-1]
        if widths != expected:
            raise ValueError(
                "Expected words of {} channels and answers of {}, those of the model. Received: "
                "{} and {}".format(*expected, *widths)
            )
        self.model, self.source_words, self.answer_words = model, source_words, answer_words
        memories = [layer for layer in model.layers if isinstance(layer, MemoryRNN)]
        self.memory = memories[0] if memories else None

    def answer(self, sequence):
        """Answers problems.

        Args:
            sequence: string (B,), the words of each.

        Returns:
            dict: TEXT string (B, 1), SCORE float32 (B, 1), the log-probability of the answer in
            nats, LONGER int32 (B,), ERROR string (B,). A row that cannot be read has an empty text,
            a score of 0 and its own reason under ERROR; the others are unaffected. An empty batch
            is answered with empty arrays.
        """
        answer = self.explain(sequence)
        return {key: answer[key] for key in (TEXT, SCORE, LONGER, ERROR)}

    @accepts_empty_batch
    def explain(self, sequence):
        """Answers problems, and says where each head wrote and read in each step.

        Args:
            sequence: as in `answer`.

        Returns:
            dict as of `answer`, with STEPS string (B, T), and, of a model with a memory,
            WRITE_WEIGHTS and READ_WEIGHTS float32 (B, T, H, N), see `contracts`.
        """
        bad = text_reasons(sequence)
        texts = tf.where(bad == "", sequence, "")
        read = self.source_words.encode(texts)
        empty = tf.where(tf.strings.strip(texts) == "", EMPTY, "")
        reasons = first_reason(bad, empty, read.reasons)
        counts = tf.cast(read.vectors.row_lengths(), tf.int32)
        last = counts + read.steps
        inputs = read.vectors.to_tensor()
        inputs = tf.pad(inputs, [[0, 0], [0, tf.reduce_max(last) - tf.shape(inputs)[1]], [0, 0]])
        weights = {}
        if self.memory is None:
            logits = self.model(inputs, training=False)
        else:
            logits, write, read_weights = self.memory(inputs, return_attention_scores=True)
            weights = {WRITE_WEIGHTS: write, READ_WEIGHTS: read_weights}
        places = counts[:, None] + tf.range(tf.reduce_max(read.steps))
        places = tf.minimum(places, tf.shape(inputs)[1] - 1)
        probabilities = tf.sigmoid(tf.gather(logits, places, batch_dims=1))
        words = self.answer_words.words(probabilities, read.steps)
        real = self.answer_words.read(probabilities, read.steps)
        sure = tf.reduce_sum(tf.math.log(tf.maximum(probabilities, 1 - probabilities)), axis=-1)
        steps = self._steps(texts, reasons, words)
        seen = tf.sequence_mask(last, tf.shape(inputs)[1]) & (reasons == "")[:, None]
        return {
            TEXT: self.answer_words.decode(probabilities, read.steps)[:, None],
            SCORE: tf.reduce_sum(tf.where(real, sure, 0.0), axis=1)[:, None],
            LONGER: self.source_words.longer(read),
            ERROR: reasons,
            STEPS: tf.where(seen, steps[:, : tf.shape(inputs)[1]], ""),
            **{key: tf.where(seen[:, :, None, None], value, 0.0) for key, value in weights.items()},
        }

    def _steps(self, texts, reasons, words):
        """Words of the problems, their ends, planning steps and the answers, string (B, T)."""
        sources = tf.strings.split(tf.where(reasons == "", texts, ""))
        after = [[END_PIECE, *[PLANNING_PIECE] * self.source_words.planning_steps]]
        ends = tf.tile(tf.constant(after), [tf.shape(texts)[0], 1])
        return tf.concat([sources, ends, words], axis=1).to_tensor("")

    def signatures(self):
        """The exported signatures: dict from name to a function and its `TensorSpec`s."""
        inputs = [tf.TensorSpec((None,), tf.string, name=SEQUENCE)]
        return {"serving_default": (self.answer, inputs), "explain": (self.explain, inputs)}

    def requests(self, count):
        """Warm-up requests: dict from signature to inputs, `count` of each."""
        words = FORMS[self.source_words.problem].example_of(self.source_words.bits)
        inputs = {SEQUENCE: [words.encode()] * count}
        return dict.fromkeys(self.signatures(), inputs)

    def tokenizers(self):
        """dict from the name of its folder to the vocabulary."""
        return {"source_words": self.source_words, "answer_words": self.answer_words}

    def metadata(self):
        """Description of the service without its model, of JSON types."""
        words = self.source_words
        return {
            "problem": words.problem,
            "longest": words.longest,
            "longest_answer": words.longest_answer,
            "planning_steps": words.planning_steps,
        }

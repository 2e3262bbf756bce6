"""The service of algorithmic problems: a problem in, its answer and the heads' weights out."""

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
from keras_attn.lazy_tensorflow import tf
from keras_attn.serving.function_service import FunctionService
from keras_attn.serving.readers.reasons import EMPTY, first_reason, text_reasons
from keras_attn.serving.views import LONGER_NOTE, TRACKS
from keras_attn.text.sequence_forms import FORMS


def sequence_service(model, source_words, answer_words) -> FunctionService:
    """A recurrent network that answers algorithmic problems, as a service.

    `serving_default` takes problems, string (B,), and answers with TEXT string (B, 1), SCORE
    float32 (B, 1), the log-probability of the answer in nats, LONGER int32 (B,) and ERROR string
    (B,); `explain` also with STEPS string (B, T) and, of a model with a memory, WRITE_WEIGHTS and
    READ_WEIGHTS float32 (B, T, H, N), see `contracts`. A row that cannot be read has an empty text,
    a score of 0 and its own reason under ERROR; the others are unaffected.

    Args:
        model: Keras model, float (B, T, E) to logits (B, T, O); one layer is a `MemoryRNN`, which
            returns the logits, or none is.
        source_words: `SourceWords`.
        answer_words: `AnswerWords`.

    Raises:
        ValueError: widths that are not the model's.
    """
    widths = source_words.vocabulary_size, answer_words.vocabulary_size
    expected = model.input_shape[-1], model.output_shape[-1]
    if widths != expected:
        raise ValueError(
            "Expected words of {} channels and answers of {}, those of the model. Received: "
            "{} and {}".format(*expected, *widths)
        )
    machine = _Machine(model, source_words, answer_words)
    return FunctionService(
        model,
        {"source_words": source_words, "answer_words": answer_words},
        machine.explain,
        (TEXT, SCORE, LONGER),
        [*([TRACKS] if machine.memory else []), LONGER_NOTE],
        {SEQUENCE: FORMS[source_words.problem].example_of(source_words.bits).encode()},
        {
            "problem": source_words.problem,
            "longest": source_words.longest,
            "longest_answer": source_words.longest_answer,
            "planning_steps": source_words.planning_steps,
        },
    )


class _Machine:
    """A network with its reader and writer of words."""

    def __init__(self, model, source_words, answer_words):
        self.model, self.source_words, self.answer_words = model, source_words, answer_words
        memories = [layer for layer in model.layers if isinstance(layer, MemoryRNN)]
        self.memory = memories[0] if memories else None

    def explain(self, sequence):
        """Answers problems, and says where each head wrote and read in each step."""
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

"""The service of a question answerer: a story and a question in, answers and hops out."""

import tensorflow as tf

from keras_attn.contracts import (
    DROPPED,
    ERROR,
    LABEL_SCORES,
    LABELS,
    PAD_ID,
    QUESTION,
    SENTENCES,
    STORY,
    UNKNOWN_ID,
    WEIGHTS,
)
from keras_attn.serving.answers import first_reason
from keras_attn.serving.empty_batch import accepts_empty_batch
from keras_attn.serving.sources import text_reasons
from keras_attn.text.plain_words import plain_words
from keras_attn.text.symbol_table import SPECIAL_SYMBOLS

EMPTY_STORY, EMPTY_QUESTION = "an empty story", "an empty question"


class QuestionService(tf.Module):
    """A model that answers questions about stories, with its vocabulary.

    Args:
        model: `QuestionAnswerer` or `StoryReader`.
        words: `SymbolTable` of its words.
        n_best: int > 0. Number of answers returned, most probable first; all words if there are
            fewer.

    Raises:
        ValueError: n_best < 1, or not as many words as the model has.
    """

    def __init__(self, model, words, n_best=1):
        super().__init__()
        if n_best < 1:
            raise ValueError(f"Expected n_best >= 1. Received: n_best={n_best}")
        if words.vocabulary_size != model.vocabulary_size:
            raise ValueError(
                f"Expected a vocabulary of {model.vocabulary_size}, that of the model. "
                f"Received: {words.vocabulary_size}"
            )
        self.model, self.words = model, words
        self.n_best = min(n_best, len(words.names))

    def answer(self, story, question):
        """Answers with words.

        Args:
            story: string (B,), UTF-8, a sentence on each line; blank lines do not count.
            question: string (B,), UTF-8.

        Returns:
            dict: LABELS string (B, n), LABEL_SCORES float32 (B, n), DROPPED int32 (B,), ERROR
            string (B,). A row with an empty story or question, an unknown word, or text that is
            not UTF-8 has empty labels, scores of 0 and its own reason under ERROR; the others are
            unaffected. An empty batch is answered with empty arrays.
        """
        answer = self.explain(story, question)
        return {key: answer[key] for key in (LABELS, LABEL_SCORES, DROPPED, ERROR)}

    @accepts_empty_batch
    def explain(self, story, question):
        """Answers with words, and how much of each sentence each hop or head read.

        Args:
            story: as in `answer`.
            question: as in `answer`.

        Returns:
            dict as of `answer`, with SENTENCES string (B, M) and WEIGHTS float32 (B, K, M),
            see `contracts`.

        Raises:
            InvalidArgumentError: different numbers of stories and questions.
        """
        tf.debugging.assert_equal(
            tf.shape(story), tf.shape(question), "Expected as many questions as stories."
        )
        bad = first_reason(text_reasons(story), text_reasons(question))
        told, asked = (tf.where(bad == "", text, "") for text in (story, question))
        sentences = tf.strings.split(tf.strings.regex_replace(told, r"\r?\n", "\n"), "\n")
        sentences = sentences.with_values(tf.strings.strip(sentences.values))
        plain = sentences.with_values(plain_words(sentences.values))
        real = plain.with_values(plain.values != "")
        sentences, plain = (tf.ragged.boolean_mask(part, real) for part in (sentences, plain))
        unknown, value = self._tokens(plain)
        strange, query = self._tokens(tf.RaggedTensor.from_tensor(plain_words(asked)[:, None]))
        word = first_reason(unknown, strange)
        reasons = first_reason(
            bad,
            tf.where(plain.row_lengths() == 0, EMPTY_STORY, ""),
            tf.where(tf.reduce_any(query != PAD_ID, axis=(1, 2)), "", EMPTY_QUESTION),
            tf.where(word == "", "", tf.strings.join(["an unknown word: ", word])),
        )
        readable = reasons == ""
        value = tf.where(readable[:, None, None], value, PAD_ID)
        logits, weights = self.model.hops({STORY: value, QUESTION: query[:, 0]})
        shown = tf.where(readable[:, None], sentences.to_tensor(shape=tf.shape(value)[:2]), "")
        return {
            **self._best(logits, readable),
            DROPPED: self.model.dropped(value),
            ERROR: reasons,
            SENTENCES: shown,
            WEIGHTS: weights,
        }

    def _tokens(self, sentences):
        """The first unknown word of each row, string (B,), and tokens, int32 (B, M, W)."""
        words = tf.strings.split(sentences.values).to_tensor()
        tokens = self.words.encode(sentences.values).to_tensor(PAD_ID)
        rows = sentences.with_values(tokens).to_tensor(PAD_ID)
        rows = tf.pad(
            rows, [[0, 0], *([0, tf.cast(tf.shape(rows)[i] == 0, tf.int32)] for i in (1, 2))]
        )
        marked = tf.where(tokens == UNKNOWN_ID, words, "")
        flat = tf.reshape(
            sentences.with_values(
                tf.strings.reduce_join(marked, axis=1, separator=" ")
            ).to_tensor(),
            (tf.shape(rows)[0], -1),
        )
        unknown = tf.strings.strip(tf.strings.reduce_join(flat, axis=1, separator=" "))
        return tf.strings.regex_replace(unknown, r"\s.*", ""), rows

    def _best(self, logits, readable):
        """The most probable words of each row."""
        shares = tf.nn.softmax(logits)[:, SPECIAL_SYMBOLS:]
        scores, ids = tf.math.top_k(shares, self.n_best)
        labels = self.words.pieces(ids + SPECIAL_SYMBOLS)
        valid = readable[:, None]
        return {LABELS: tf.where(valid, labels, ""), LABEL_SCORES: tf.where(valid, scores, 0.0)}

    def signatures(self):
        """The exported signatures: dict from name to a function and its `TensorSpec`s."""
        inputs = [tf.TensorSpec((None,), tf.string, name=name) for name in (STORY, QUESTION)]
        return {"serving_default": (self.answer, inputs), "explain": (self.explain, inputs)}

    def requests(self, count):
        """Warm-up requests: dict from signature to inputs, `count` of each."""
        word = self.words.names[0].encode()
        inputs = {STORY: [word] * count, QUESTION: [word] * count}
        return dict.fromkeys(self.signatures(), inputs)

    def tokenizers(self):
        """dict from the name of its folder to the vocabulary."""
        return {"words": self.words}

    def metadata(self):
        """Description of the service without its model, of JSON types."""
        model = self.model
        return {"n_best": self.n_best, "memory_size": model.memory_size, "reader": model.reader}

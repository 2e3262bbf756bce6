"""Stories and questions as inputs of a service, with a reason for each unreadable pair."""

from dataclasses import dataclass
from typing import Any

from keras_attn.contracts import PAD_ID, QUESTION, SENTENCES, STORY, UNKNOWN_ID
from keras_attn.lazy_tensorflow import tf
from keras_attn.serving.readers.reader import Read, Reader
from keras_attn.serving.readers.reasons import first_reason, text_reasons
from keras_attn.text.plain_words import plain_words

EMPTY_STORY, EMPTY_QUESTION = "an empty story", "an empty question"


@dataclass(frozen=True)
class QuestionReader(Reader):
    """Stories, a sentence on each line, and questions about them to words.

    Blank lines do not count. A pair with an empty story or question, an unknown word, or text that
    is not UTF-8 cannot be read.

    Attributes:
        words: `SymbolTable`.
    """

    words: Any

    @property
    def examples(self):
        return dict.fromkeys((STORY, QUESTION), self.words.names[0].encode())

    def read(self, story, question):
        """See `Reader`: of stories and questions, string (B,).

        Raises:
            InvalidArgumentError: different numbers of stories and questions.
        """
        tf.debugging.assert_equal(
            tf.shape(story), tf.shape(question), "Expected as many questions as stories."
        )
        bad = first_reason(text_reasons(story), text_reasons(question))
        story_text, question_text = (tf.where(bad == "", text, "") for text in (story, question))
        sentences = tf.strings.split(tf.strings.regex_replace(story_text, r"\r?\n", "\n"), "\n")
        sentences = sentences.with_values(tf.strings.strip(sentences.values))
        plain = sentences.with_values(plain_words(sentences.values))
        real = plain.with_values(plain.values != "")
        sentences, plain = (tf.ragged.boolean_mask(part, real) for part in (sentences, plain))
        unknown, value = self._tokens(plain)
        asked_words = plain_words(question_text)[:, None]
        strange, query = self._tokens(tf.RaggedTensor.from_tensor(asked_words))
        word = first_reason(unknown, strange)
        counts = tf.cast(plain.row_lengths(), tf.int32)
        reasons = first_reason(
            bad,
            tf.where(counts == 0, EMPTY_STORY, ""),
            tf.where(tf.reduce_any(query != PAD_ID, axis=(1, 2)), "", EMPTY_QUESTION),
            tf.where(word == "", "", tf.strings.join(["an unknown word: ", word])),
        )
        readable = reasons == ""
        value = tf.where(readable[:, None, None], value, PAD_ID)
        shown = tf.where(readable[:, None], sentences.to_tensor(shape=tf.shape(value)[:2]), "")
        features = {STORY: value, QUESTION: query[:, 0]}
        return Read(features, reasons, tf.where(readable, counts, 0), {SENTENCES: shown}, shown)

    def metadata(self):
        return {}

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

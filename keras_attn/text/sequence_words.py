"""Texts of algorithmic problems as vectors, and answers as texts, in the graph."""

from typing import Any, NamedTuple

from keras_attn.checks import check_sizes
from keras_attn.lazy_tensorflow import tf
from keras_attn.text.sequence_forms import (
    COPY,
    END_WORD,
    FORMS,
    PRIORITY_SORT,
    REPEAT_COPY,
    SHORTEST_PATH,
)
from keras_attn.text.sequence_settings import SequenceSettings

MARKS = 3
"""Channels of a source after those of words and of the number: "|", "?" and the source's end."""
MOST_COPIES = 10.0
"""What a number of copies or of words to return is divided by."""
MOST_STEPS = 4096
"""Most steps of a source and its answer."""


class SourceVectors(NamedTuple):
    """Sources that have been read.

    Attributes:
        vectors: ragged float32 (B, (S), E), the end of the source last, then planning steps.
        steps: int32 (B,), words of the answer; 0 where a source cannot be read.
        reasons: string (B,), why not, or ''.
    """

    vectors: Any
    steps: Any
    reasons: Any


class SourceWords(SequenceSettings):
    """Reads the texts of a problem as vectors.

    A vector has the bits of the word (of an edge, those of both nodes), a number, and marks for
    "|", "?" and the end of the source. A number is a priority, or a tenth of what follows x.

    Args:
        problem: one of `sequence_forms.FORMS`.
        bits: int > 0. Bits of a word.
        longest: int > 0. Words of the longest source that the model was trained on.
        longest_answer: int > 0. Words of the longest answer that it was trained on; shortest paths
            are read up to this length.
        planning_steps: int ≥ 0. Steps without input after the end of a source, in which a network
            can look things up before it answers.

    Raises:
        ValueError: another problem, a size < 1, or planning_steps < 0.

    Example:
        >>> words = SourceWords("repeat_copy", 3, longest=5, longest_answer=7)
        >>> read = words.encode(["011 110 x2", "0 1"])
        >>> read.vectors.shape, read.steps.numpy().tolist()
        (TensorShape([2, None, 7]), [5, 0])
        >>> read.reasons.numpy()[1][-40:]
        b"ach, such as '010 010 x2'; received: 0 1"
    """

    fields = ("problem", "bits", "longest", "longest_answer", "planning_steps")

    def __init__(
        self, problem: str, bits: int, longest: int, longest_answer: int, planning_steps: int = 0
    ):
        super().__init__()
        if problem not in FORMS:
            raise ValueError(f"Expected one of {', '.join(FORMS)}. Received: problem={problem!r}")
        check_sizes(bits=bits, longest=longest, longest_answer=longest_answer)
        check_sizes(least=0, planning_steps=planning_steps)
        self.problem, self.bits, self.planning_steps = problem, bits, planning_steps
        self.longest, self.longest_answer = longest, longest_answer
        self.vocabulary_size = bits * (1 + (problem == SHORTEST_PATH)) + 1 + MARKS

    def encode(self, texts) -> SourceVectors:
        """Sources, string (B,), words with white space between them, as `SourceVectors`."""
        texts = tf.strings.strip(tf.strings.regex_replace(texts, r"\s+", " "))
        form = FORMS[self.problem]
        good = tf.strings.regex_full_match(texts, form.regex(self.bits))
        wrong = [f"expected {form.described(self.bits)}; received: ", beginnings(texts)]
        words = tf.strings.split(tf.where(good, texts, ""))
        steps = tf.where(good, self._steps(words), 0)
        counts = tf.cast(words.row_lengths(), tf.int32)
        total = counts + 1 + self.planning_steps + steps
        total_text = tf.strings.as_string(total)
        long = tf.strings.join([total_text, f" steps in all (expected at most {MOST_STEPS})"])
        long = tf.where(total > MOST_STEPS, long, "")
        reasons = tf.where(good, long, tf.strings.join(wrong))
        words = words.with_values(tf.where(tf.repeat(reasons == "", counts), words.values, ""))
        words = tf.ragged.boolean_mask(words, words != "")
        vectors = words.with_values(self._vectors(words.values))
        end = tf.one_hot([self.vocabulary_size - 1], self.vocabulary_size)
        end = tf.pad(end, [[0, self.planning_steps], [0, 0]])
        ends = tf.tile(end, [tf.shape(texts)[0], 1])
        ends = tf.RaggedTensor.from_uniform_row_length(ends, 1 + self.planning_steps)
        vectors = tf.concat([vectors, ends], axis=1)
        return SourceVectors(vectors, tf.where(reasons == "", steps, 0), reasons)

    def longer(self, read: SourceVectors):
        """int32 (B,): 1 where a source or its answer is longer than any that was trained on."""
        words = tf.cast(read.vectors.row_lengths(), tf.int32) - 1 - self.planning_steps
        return tf.cast((words > self.longest) | (read.steps > self.longest_answer), tf.int32)

    def _steps(self, words):
        """Words of the answers, int32 (B,)."""
        counts = tf.cast(words.row_lengths(), tf.int32)
        if self.problem == COPY:
            return counts
        if self.problem == SHORTEST_PATH:
            return tf.fill(tf.shape(counts), self.longest_answer)
        if self.problem in (REPEAT_COPY, PRIORITY_SORT):
            given = tf.reduce_max(words.with_values(_wanted(words.values)), axis=1)
            given = tf.cast(tf.where(counts > 0, given, 0.0), tf.int32)
            if self.problem == REPEAT_COPY:
                return (counts - 1) * given + 1
            return tf.minimum(counts - 1, given)
        question = words.with_values(tf.cast(words.values == "?", tf.int32))
        place = tf.reduce_sum(question.with_values(question.values * _places(words)), axis=1)
        return counts - 1 - place

    def _vectors(self, words):
        """float32 (W, E) of words, string (W,)."""
        first = tf.strings.regex_replace(words, "[^01].*$", "")
        parts = [_bits(first, self.bits)]
        if self.problem == SHORTEST_PATH:
            parts.append(_bits(tf.strings.regex_replace(words, "^(.*-|[^-]*$)", ""), self.bits))
        number = _wanted(words) / MOST_COPIES
        if self.problem == PRIORITY_SORT:
            priority = tf.strings.regex_full_match(words, ".*:.*")
            value = tf.where(priority, tf.strings.regex_replace(words, "^.*:", ""), "0")
            number += tf.strings.to_number(value)
        marks = tf.stack([words == "|", words == "?", tf.zeros_like(words, tf.bool)], axis=-1)
        return tf.concat([*parts, number[:, None], tf.cast(marks, tf.float32)], axis=-1)


class AnswerWords(SequenceSettings):
    """Answers as vectors and back: the bits of each word, and a mark for the word that ends them.

    Args:
        bits: int > 0. Bits of a word.

    Raises:
        ValueError: bits < 1.

    Example:
        >>> words = AnswerWords(3)
        >>> words.decode(words.encode(["011 110 ."]).to_tensor(), [3]).numpy()
        array([b'011 110 .'], dtype=object)
    """

    fields = ("bits",)

    def __init__(self, bits: int):
        super().__init__()
        check_sizes(bits=bits)
        self.bits, self.vocabulary_size = bits, bits + 1

    def encode(self, texts):
        """Answers, string (B,), to ragged float32 (B, (A), O)."""
        words = tf.strings.split(texts)
        bits = _bits(tf.where(words.values == END_WORD, "", words.values), self.bits)
        end = tf.cast(words.values == END_WORD, tf.float32)
        return words.with_values(tf.concat([bits, end[:, None]], axis=-1))

    def read(self, chosen, steps):
        """bool (B, A): which steps of an answer count, up to the word that ends it.

        Args:
            chosen: float (B, A, O). An entry > 0.5 is a 1.
            steps: int (B,). Words of each answer at most.
        """
        ended = tf.cumsum(tf.cast(chosen[..., -1] > 0.5, tf.int32), axis=1, exclusive=True)
        return tf.sequence_mask(steps, tf.shape(chosen)[1]) & (ended == 0)

    def words(self, chosen, steps):
        """Vectors to words, string (B, A), '' after the end; arguments as of `read`."""
        chosen = tf.convert_to_tensor(chosen)
        words = tf.strings.reduce_join(tf.where(chosen[..., :-1] > 0.5, "1", "0"), axis=-1)
        words = tf.where(chosen[..., -1] > 0.5, END_WORD, words)
        return tf.where(self.read(chosen, steps), words, "")

    def decode(self, chosen, steps):
        """Vectors to texts, string (B,); arguments as of `read`."""
        words = self.words(chosen, steps)
        return tf.strings.strip(tf.strings.reduce_join(words, axis=-1, separator=" "))


def beginnings(texts):
    """string (B,): the beginnings of texts."""
    return tf.strings.regex_replace(tf.strings.substr(texts, 0, 60, "UTF8_CHAR"), r"\s+", " ")


def _bits(words, bits):
    """Words of bits, string (W,), '' for none, to float32 (W, bits)."""
    padded = tf.strings.join([words, "0" * bits])
    return tf.cast(
        tf.stack([tf.strings.substr(padded, bit, 1) == "1" for bit in range(bits)], axis=-1),
        tf.float32,
    )


def _wanted(words):
    """What follows x, float32 (W,); 0 for other words."""
    number = tf.strings.regex_full_match(words, "x[0-9]+")
    return tf.strings.to_number(tf.where(number, tf.strings.regex_replace(words, "x", ""), "0"))


def _places(words):
    """int32 (W,): the place of each word in its row."""
    return tf.cast(tf.ragged.range(words.row_lengths()).values, tf.int32)

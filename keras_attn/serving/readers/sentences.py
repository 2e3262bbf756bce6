"""Sentences as inputs of a parser, with a reason for each unreadable one."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from keras_attn.contracts import END_PIECE, PAD_ID, SOURCE, SOURCE_PIECES, WORD_MARK
from keras_attn.lazy_tensorflow import tf
from keras_attn.serving.readers.reader import Read, Reader
from keras_attn.serving.readers.reasons import EMPTY, first_reason, text_reasons, too_long
from keras_attn.text.words import split_words, word_pieces


class Words(NamedTuple):
    """The words of B sentences.

    Attributes:
        words: string (B, S), the words, END_PIECE, then ''.
        present: bool (B, S), whether the sentence has a word there.
    """

    words: Any
    present: Any


@dataclass(frozen=True)
class SentenceReader(Reader):
    """Words between ASCII white space to their pieces; round brackets become -LRB- and -RRB-.

    A sentence that is empty, not UTF-8 or too long cannot be read.

    Attributes:
        tokenizer: `Tokenizer` of the words.
        max_source: int. Maximum words of a sentence, end included.
        word_pieces: int. Number of leading pieces read per word.
    """

    tokenizer: Any
    max_source: int
    word_pieces: int

    @property
    def examples(self):
        return {SOURCE: b"a"}

    def read(self, source):
        """See `Reader`: of sentences, string (B,); its details are `Words`."""
        unreadable = text_reasons(source)
        texts = tf.where(unreadable == "", source, "")
        texts = tf.strings.regex_replace(texts, r"\(", "-LRB-")
        texts = tf.strings.regex_replace(texts, r"\)", "-RRB-")
        words = split_words(texts)
        counts = tf.cast(words.row_lengths(), tf.int32)
        long = too_long("a sentence", counts, self.max_source - 1, "words")
        reasons = first_reason(unreadable, tf.where(counts == 0, EMPTY, ""), long)
        is_readable = words.with_values(tf.repeat(reasons == "", words.row_lengths()))
        words = tf.ragged.boolean_mask(words, is_readable)
        tokens = word_pieces(words, self.tokenizer, self.word_pieces).to_tensor(PAD_ID)
        ends = tf.fill((tf.shape(texts)[0], 1), END_PIECE)
        names = tf.concat([words, ends], axis=1).to_tensor("")
        counts = tf.where(reasons == "", counts, 0)
        present = tf.sequence_mask(counts, tf.shape(names)[1])
        shown = tf.where((reasons == "")[:, None], names, "")
        marked = tf.strings.join([tf.where(present, WORD_MARK, ""), shown])
        details = Words(names, present)
        return Read({SOURCE: tokens}, reasons, counts, {SOURCE_PIECES: shown}, marked, details)

    def metadata(self):
        return {"max_source": self.max_source, "word_pieces": self.word_pieces}

"""WordPiece, the tokenizer of BERT."""

import re
from collections.abc import Sequence

from keras_attn.contracts import PAD_ID, UNKNOWN_ID, WORD_MARK
from keras_attn.lazy_tensorflow import tf, tf_text
from keras_attn.text.byte_pairs import SPACE
from keras_attn.text.named_pieces import NamedPieces

INSIDE = "##"
"""Before a piece that continues a word."""
_LONGEST = 100
"""Characters of the longest word that is known, as in BERT."""
_GONE = r"[\x00\x{fffd}\p{Cc}\p{Cf}\p{Co}]"
_PUNCTUATION = r"[!-/:-@\[-`{-~]|\p{P}"
_IDEOGRAPHS = (
    r"[\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{20000}-\x{2a6df}\x{2a700}-\x{2b73f}"
    r"\x{2b740}-\x{2b81f}\x{2b920}-\x{2ceaf}\x{f900}-\x{faff}\x{2f800}-\x{2fa1f}]"
)
_CLOSE = (
    *((f" {mark}", mark) for mark in ".?!,"),
    (" ' ", "'"),
    *((f" {ending}", ending) for ending in ("n't", "'m", "'s", "'ve", "'re")),
)
"""What transformers writes without spaces around it."""


class WordPieceTokenizer(NamedPieces):
    """Words as the longest known pieces, from the left.

    Texts are cleaned as BERT's: control characters and U+FFFD are left out, white space is one
    space, ideographs and punctuation marks stand alone; with `lowercase` accents are taken off,
    too. A word with a character that no piece has, or of more than 100, is unknown.

    Text that looks like a special token, such as "[SEP]", is cut like any other.

    Args:
        names: strings; the piece of each id, "##" before those inside a word, the four special ids
            first; "" for an id that no text has.
        lowercase: bool.
        closes: bool. Whether decoded texts have no space before a contraction or a mark, where
            these are several pieces.

    Raises:
        ValueError: fewer than five names, or one twice.

    Example:
        >>> names = ["", "", "", "", "two", "dog", "##s", "."]
        >>> tokenizer = WordPieceTokenizer(names, lowercase=True)
        >>> tokens = tokenizer.encode(["Two Dogs.", "two cats"])
        >>> tokens.to_list()
        [[4, 5, 6, 7], [4, 1]]
        >>> tokenizer.decode(tokens).numpy()[0].decode()
        'two dogs.'

    Source: Schuster and Nakajima 2012; Devlin et al. 2019, arXiv:1810.04805. Ids are those of the
    library tokenizers, but for characters that one of both Unicode tables does not know.
    """

    def __init__(self, names: Sequence[str], lowercase: bool = True, closes: bool = False):
        self.lowercase, self.closes = lowercase, closes
        super().__init__(names)

    def make(self):
        # No word has a space: names with one stand for ids that no text has.
        known = [name or f" {place}" for place, name in enumerate(self.names)]
        unknown = known[UNKNOWN_ID]
        with tf.init_scope():
            return tf_text.FastWordpieceTokenizer(
                known,
                suffix_indicator=INSIDE,
                max_bytes_per_word=4 * _LONGEST,
                token_out_type=tf.int32,
                unknown_token=unknown,
                no_pretokenization=True,
            )

    def settings(self):
        return {"names": self.names, "lowercase": self.lowercase, "closes": self.closes}

    def shown_names(self):
        return [
            name.removeprefix(INSIDE) if name.startswith(INSIDE) or not name else WORD_MARK + name
            for name in self.names
        ]

    def encode(self, texts):
        words = tf_text.regex_split(
            self._cleaned(texts), f"[{SPACE}]+|{_PUNCTUATION}", _PUNCTUATION
        )
        long = tf.strings.length(words.flat_values, "UTF8_CHAR") > _LONGEST
        words = words.with_flat_values(tf.where(long, " ", words.flat_values))
        return self.in_graphs.tokenize(words).merge_dims(1, 2)

    def _cleaned(self, texts):
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        texts = tf.strings.regex_replace(texts, r"[\t\n\r]", " ")
        texts = tf.strings.regex_replace(texts, _GONE, "")
        texts = tf.strings.regex_replace(texts, f"({_IDEOGRAPHS})", r" \1 ")
        if not self.lowercase:
            return texts
        texts = tf.strings.regex_replace(tf_text.normalize_utf8(texts, "NFD"), r"\p{Mn}", "")
        texts = tf.strings.regex_replace(texts, "\u03a3", "\u03c3")  # No ς at the end of a word.
        return tf.strings.lower(texts, encoding="utf-8")

    def joined(self, tokens):
        spelled = tf.constant([_spelled(name) for name in self.names])
        before = tf.constant([INSIDE if name.startswith(INSIDE) else "" for name in self.names])
        first = tokens[:, :1].to_tensor(PAD_ID, shape=(None, 1))[:, 0]
        rest = tf.strings.reduce_join(
            tokens.with_values(tf.gather(spelled, tokens.values)), axis=-1
        )
        texts = tf.strings.join([tf.gather(before, first), rest])
        if self.closes:
            texts = tf.strings.strip(texts)
            for spaced, close in _CLOSE:
                texts = tf.strings.regex_replace(texts, re.escape(spaced), close)
        return tf.strings.strip(texts)


def _spelled(name):
    """A piece after others."""
    if name.startswith(INSIDE):
        return name.removeprefix(INSIDE)
    text = f" {name}" if name else ""
    for spaced, close in _CLOSE:
        text = text.replace(spaced, close)
    return text

"""The tokenizer of CLIP: byte-level byte-pair encoding of words in lower case."""

from keras_attn.contracts import WORD_MARK
from keras_attn.lazy_tensorflow import tf, tf_text
from keras_attn.text.byte_pairs import SPACE, BytePairs

END_OF_WORD = "</w>"
_KEPT = rf"'s|'t|'re|'ve|'m|'ll|'d|\p{{L}}+|\p{{N}}|[^{SPACE}\p{{L}}\p{{N}}]+"


class ClipTokenizer(BytePairs):
    """Words in lower case as bytes, of which neighbors are merged, the earliest learned pair first.

    Texts are put in Unicode's composed form (NFC) and in lower case. A word is a contraction,
    letters, a single digit, or other signs; spaces only separate. The last byte of a word has a
    name that ends in "</w>", and so has every piece that ends a word. Nothing is unknown; invalid
    UTF-8 becomes U+FFFD. Decoding writes a space after each word.

    Text that looks like a special token, such as "<|endoftext|>", is spelled like any other.
    `pieces` shows ▁ after the last piece of a word.

    Args:
        names: strings; the piece of each id in `byte_alphabet`, with "</w>" where it ends a word,
            the four special ids first; "" for an id that no text has.
        merges: pairs of pieces, in the order in which they were learned.

    Raises:
        ValueError: no piece of a single byte, within or at the end of a word; a merge of other
            pieces or into none.

    Example:
        >>> from keras_attn.text.byte_pairs import byte_alphabet
        >>> alphabet = byte_alphabet()
        >>> merges = [("a", "t</w>"), ("c", "at</w>")]
        >>> names = [*alphabet, *(sign + "</w>" for sign in alphabet)]
        >>> names = ["", "", "", "", *names, *("".join(pair) for pair in merges)]
        >>> tokenizer = ClipTokenizer(names, merges)
        >>> tokens = tokenizer.encode(["A  Cat!"])
        >>> [piece.decode() for piece in tokenizer.pieces(tokens[0]).numpy()]
        ['a▁', 'cat▁', '!▁']
        >>> tokenizer.decode(tokens).numpy()[0].decode()
        'a cat !'

    Source: Radford et al. 2021, arXiv:2103.00020, 2.4, and the authors' program, without its repair
    of mixed encodings (ftfy) and of HTML, as in transformers. Ids are those of the library
    tokenizers, but for characters that one of both Unicode tables does not know.
    """

    lowercase, ending = True, END_OF_WORD

    def words(self, texts):
        """Words of CLIP's expression."""
        texts = tf_text.normalize_utf8(texts, "NFC")
        texts = tf.strings.regex_replace(texts, "\u03a3", "\u03c3")  # No ς at the end of a word.
        texts = tf.strings.lower(texts, encoding="utf-8")
        return tf_text.regex_split(texts, f"{_KEPT}|[{SPACE}]+", _KEPT)

    def shown_names(self):
        texts = (spelled.decode("utf-8", "replace") for spelled in self.spelled)
        return [text[:-1] + WORD_MARK if text[-1:] == " " else text for text in texts]

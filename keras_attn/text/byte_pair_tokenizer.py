"""Byte-level byte-pair encoding, the tokenizer of GPT-2."""

from keras_attn.contracts import WORD_MARK
from keras_attn.lazy_tensorflow import tf_text
from keras_attn.text.byte_pairs import SPACE, BytePairs

_CHUNKS = f"^[^{SPACE}]+|[{SPACE}][^{SPACE}]+"
_WORDS = (
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+"
    rf"| ?[^{SPACE}\p{{L}}\p{{N}}]+|[{SPACE}]+"
)


class BytePairTokenizer(BytePairs):
    """Words as bytes, of which neighbors are merged, the earliest learned pair first.

    A word is what GPT-2's regular expression finds: a contraction, or letters, digits or other
    signs with at most one space before them, or white space. No text is changed, and nothing is
    unknown; only invalid UTF-8 becomes U+FFFD. Decoding leaves out white space of ASCII at the
    ends, and shows U+FFFD for bytes that are no UTF-8.

    Text that looks like a special token, such as "<|endoftext|>", is spelled like any other.

    Args:
        names: strings; the piece of each id in `byte_alphabet`, the four special ids first; "" for
            an id that no text has.
        merges: pairs of pieces, in the order in which they were learned.

    Raises:
        ValueError: no piece of a single byte; a merge of other pieces or into none.

    Example:
        >>> from keras_attn.text.byte_pairs import byte_alphabet
        >>> alphabet = byte_alphabet()
        >>> merges = [("a", "t"), ("c", "at"), ("Ġ", "cat")]
        >>> names = ["", "", "", "", *alphabet, *("".join(pair) for pair in merges)]
        >>> tokenizer = BytePairTokenizer(names, merges)
        >>> tokens = tokenizer.encode(["cat cat 猫"])
        >>> [piece.decode() for piece in tokenizer.pieces(tokens[0]).numpy()[:2]]
        ['cat', '▁cat']
        >>> tokenizer.decode(tokens).numpy()[0].decode()
        'cat cat 猫'

    Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", 2.2;
    Sennrich et al. 2016, arXiv:1508.07909. Ids are those of the library tokenizers, but for letters
    and digits that one of both Unicode tables does not know.
    """

    lowercase, ending = False, ""

    def words(self, texts):
        """Words of GPT-2's expression.

        Of white space before something else the last character is apart, as `\\s+(?!\\S)` leaves
        it: the first pass cuts texts before it.
        """
        chunks = tf_text.regex_split(texts, _CHUNKS, _CHUNKS)
        words = tf_text.regex_split(chunks.flat_values, _WORDS, _WORDS)
        return chunks.with_flat_values(words).merge_dims(1, 2)

    def shown_names(self):
        texts = (spelled.decode("utf-8", "replace") for spelled in self.spelled)
        return [WORD_MARK + text[1:] if text[:1] == " " else text for text in texts]

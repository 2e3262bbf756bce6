"""The tokenizer: learned from text, the same object in training and in the exported graph."""

import io
import re
import unicodedata
from collections.abc import Collection, Iterable
from pathlib import Path

import sentencepiece

from keras_attn.contracts import END_ID, PAD_ID, START_ID, UNKNOWN_ID
from keras_attn.lazy_tensorflow import tf, tf_text
from keras_attn.text.detokenize import are_spaced
from keras_attn.text.piece_tokenizer import SETTINGS_FILE, SPECIAL_PIECES
from keras_attn.text.sentencepiece_tokenizer import MODEL_FILE, SentencePieceTokenizer
from keras_attn.untrusted import naming_damage, read_json

MOST_PIECES = 8000
FEWEST_PIECES = 400
"""Besides one for each character."""
WORDS_PER_PIECE = 20
WORD_LENGTH = 8
"""In characters, where there are no spaces between words."""
LEARNED = 2**18
"""Texts from which pieces are learned, at most."""
BYTE_PIECES = 256
CONTROLS = dict.fromkeys(range(0x20), " ")
SURROGATE = re.compile("[\ud800-\udfff]")
SPACES = re.compile("[ \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\u2581]+")
"""White space of Unicode, and the mark that SentencePiece keeps for itself."""


def supported_size(texts: Collection[str]) -> int:
    """The size of a vocabulary whose pieces occur often enough in texts to be learned: one for
    every WORDS_PER_PIECE words, at least FEWEST_PIECES and all characters, at most MOST_PIECES.
    """
    words = sum(max(len(text.split()), len(text) // WORD_LENGTH) for text in texts)
    characters = len(set().union(*texts))
    return min(MOST_PIECES, max(FEWEST_PIECES + characters, words // WORDS_PER_PIECE))


class Tokenizer(SentencePieceTokenizer):
    """SentencePiece with byte fallback, in the graph and in Python: text to piece ids and back.

    decode(encode(x)) = normalize(x) for any Unicode text. What `normalize` does, in this order:
    invalid UTF-8 becomes U+FFFD; NUL, the other control characters below U+0020 and U+2581 (▁, the
    mark that SentencePiece keeps for itself) become a space; NFKC; lower case if asked for; runs of
    white space become one space, and none is left at the ends. A character that was never seen is
    spelled in bytes: nothing is unknown.

    `encode`, `decode`, `normalize` and `pieces` are for tensors of TensorFlow, in its graphs, too;
    `encode_all`, `decode_all` and `normalize_all` for lists, and need no TensorFlow. Both give the
    same, but for characters newer than Unicode 13, whose forms Python and TensorFlow may not know
    alike.

    Args:
        model: bytes. A SentencePiece model with byte fallback and this project's special ids.
        lowercase: bool. Whether text is put in lower case.
        spaced: bool. Whether the texts that it was learned from have spaces before punctuation;
            None if unknown, as of tokenizers of earlier versions. It changes no piece.

    Raises:
        ValueError: the model has other special ids or no byte fallback.

    Example:
        >>> tokenizer = Tokenizer.learn(["a red circle", "a blue square"], 300)
        >>> tokenizer.decode(tokenizer.encode(["a  red\\tsquare ☂"])).numpy()[0].decode()
        'a red square ☂'
        >>> tokenizer.decode_all(tokenizer.encode_all(["a  red\\tsquare ☂"]))
        ['a red square ☂']

    Source: Kudo & Richardson 2018, arXiv:1808.06226; byte-pair encoding: Sennrich et al. 2016,
    arXiv:1508.07909.
    """

    def __init__(self, model: bytes, lowercase: bool = False, spaced: bool | None = None):
        super().__init__(model)
        processor = self._processor
        ids = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        expected = (PAD_ID, UNKNOWN_ID, START_ID, END_ID)
        if ids != expected:
            raise ValueError(f"Expected special ids {expected}. Received: {ids}")
        if not any(processor.is_byte(index) for index in range(processor.vocab_size())):
            raise ValueError("Expected a SentencePiece model with byte fallback. Received: none")
        self.lowercase, self.spaced = lowercase, spaced

    @property
    def graph_type(self):
        return tf.int32

    def joined(self, tokens):
        return self.in_graphs.detokenize(tokens)

    def piece_of(self, token: int) -> str:
        """The piece that an id stands for, ▁ before a word."""
        return self._processor.id_to_piece(token)

    def is_piece(self, tokens):
        return (tokens >= SPECIAL_PIECES) & (tokens < self.vocabulary_size)

    def equals(self, other: "Tokenizer | None") -> bool:
        """Whether the other makes the same pieces of every text."""
        return other is not None and (self.model, self.lowercase) == (
            other.model,
            other.lowercase,
        )

    @classmethod
    def learn(
        cls, texts: Iterable[str], vocabulary_size: int | None = None, lowercase: bool = False
    ):
        """Learns the pieces (byte-pair encoding) from texts.

        Args:
            texts: strings; empty ones are passed over. Of more than LEARNED, some are left out
                evenly, at least half of LEARNED are taken.
            vocabulary_size: int > 260. Upper bound; fewer pieces come out of few texts. None: what
                the texts support, see `supported_size`.
            lowercase: bool.

        Returns:
            `Tokenizer`.

        Raises:
            ValueError: vocabulary_size too small for bytes, special pieces and the texts'
                characters, or no text.
        """
        smallest = BYTE_PIECES + SPECIAL_PIECES
        if vocabulary_size is not None and vocabulary_size <= smallest:
            raise ValueError(
                f"Expected vocabulary_size > {smallest} (256 bytes and 4 special pieces). "
                f"Received: vocabulary_size={vocabulary_size}"
            )
        normalized = [text for text in _normalize_all(_spread(texts), lowercase) if text]
        if not normalized:
            raise ValueError("Expected at least one text that is not empty. Received: none")
        if vocabulary_size is None:
            vocabulary_size = supported_size(normalized)
        room = vocabulary_size - smallest
        characters = len({c for text in normalized for c in text})
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(normalized),
                model_writer=model,
                model_type="bpe",
                vocab_size=vocabulary_size,
                hard_vocab_limit=False,
                byte_fallback=True,
                character_coverage=1.0 if characters < room else 0.995,
                normalization_rule_name="identity",
                remove_extra_whitespaces=False,
                pad_id=PAD_ID,
                unk_id=UNKNOWN_ID,
                bos_id=START_ID,
                eos_id=END_ID,
                max_sentence_length=max(9, *(len(text.encode()) for text in normalized)) + 1,
                num_threads=1,
                minloglevel=2,
            )
        except RuntimeError as error:
            raise ValueError(
                f"Expected a vocabulary_size with room for {characters} characters beside "
                f"{smallest} bytes and special pieces; {smallest + characters + 1} is enough. "
                f"Received: vocabulary_size={vocabulary_size}"
            ) from error
        return cls(model.getvalue(), lowercase, are_spaced(normalized))

    @classmethod
    def load(cls, folder) -> "Tokenizer":
        """Reads what `save` wrote.

        Raises:
            ValueError: the folder holds no tokenizer, or a damaged one.
        """
        folder = Path(folder)
        with naming_damage(f"a tokenizer in {folder}"):
            settings = read_json(folder / SETTINGS_FILE, "a tokenizer")
            model, spaced = (folder / MODEL_FILE).read_bytes(), settings.get("spaced")
            return cls(model, settings["lowercase"], spaced)

    def settings(self):
        return {"lowercase": self.lowercase, "spaced": self.spaced}

    def normalize(self, texts):
        """What survives encoding: string (...) to string (...); see the class."""
        return _normalize(texts, self.lowercase)

    def normalize_all(self, texts: Iterable[str]) -> list[str]:
        """Strings as `normalize` leaves them."""
        return _normalize_all(texts, self.lowercase)

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """Strings to lists of ids, without special ids."""
        return self._processor.encode(self.normalize_all(texts), num_threads=1)

    def decode_all(self, tokens) -> list[str]:
        """Rows of ids, lists or an int array (B, T), to strings, as `decode`."""
        rows = [
            [token for token in row if SPECIAL_PIECES <= token < self.vocabulary_size]
            for row in map(before_end, tokens)
        ]
        # SentencePiece takes a list without numbers for one row.
        return self._processor.decode(rows, num_threads=1) if any(rows) else [""] * len(rows)

    def encode(self, texts):
        """String (B,) to ragged int32 (B, pieces), without special ids."""
        return self.in_graphs.tokenize(self.normalize(texts))

    def pieces(self, tokens):
        """Ids to the pieces they stand for, ▁ before a word; '' for all others.

        Args:
            tokens: int32 (..., T).

        Returns:
            string (..., T).
        """
        tokens = tf.convert_to_tensor(tokens, tf.int32)
        is_piece = self.is_piece(tokens)
        pieces = self.in_graphs.id_to_string(tf.where(is_piece, tokens, UNKNOWN_ID))
        return tf.where(is_piece, pieces, "")


def _normalize(texts, lowercase):
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    texts = tf.strings.unicode_transcode(
        texts, "UTF-8", "UTF-8", replacement_char=ord(" "), replace_control_characters=True
    )
    texts = tf_text.normalize_utf8(texts, "NFKC")
    if lowercase:
        texts = tf_text.normalize_utf8(tf.strings.lower(texts, encoding="utf-8"), "NFKC")
    texts = tf.strings.regex_replace(texts, "[\\s\\p{Z}\u2581]+", " ")
    return tf.strings.strip(texts)


def _spread(texts: Iterable[str]) -> list[str]:
    """All texts, or every second, every fourth and so on, if there are more than LEARNED."""
    taken: list[str] = []
    stride = 1
    for place, text in enumerate(texts):
        if place % stride == 0:
            taken.append(text)
            if len(taken) > LEARNED:
                taken, stride = taken[::2], 2 * stride
    return taken


def _normalize_all(texts, lowercase):
    """What `_normalize` does, in Python."""
    return [_normalized(text, lowercase) for text in texts]


def _normalized(text, lowercase):
    text = SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text).translate(CONTROLS)
    text = unicodedata.normalize("NFKC", text)
    if lowercase:
        text = unicodedata.normalize("NFKC", text.lower())
    return SPACES.sub(" ", text).strip(" ")


def before_end(tokens) -> list[int]:
    """The ids of a row before the first END_ID."""
    row = [int(token) for token in tokens]
    return row[: row.index(END_ID)] if END_ID in row else row

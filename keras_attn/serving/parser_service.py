"""The parser as a service, from sentences to bracketed trees."""

import tensorflow as tf

from keras_attn.contracts import (
    ANSWER_PIECES,
    END_ID,
    END_PIECE,
    ERROR,
    SCORE,
    SOURCE,
    SOURCE_PIECES,
    TAGS,
    TEXT,
    TOKENS,
    WEIGHTS,
    WORD_MARK,
)
from keras_attn.decoding import WellFormedTree, decode
from keras_attn.serving.answers import answer_of, every_weight, search_of
from keras_attn.serving.empty_batch import accepts_empty_batch
from keras_attn.serving.sentences import read_sentences
from keras_attn.text.linearization import WORD
from keras_attn.text.symbol_table import SPECIAL_SYMBOLS

LENGTH_FACTOR, LENGTH_EXTRA = 4, 8
"""A tree has at most LENGTH_FACTOR symbols for each word and LENGTH_EXTRA more."""


class ParserService(tf.Module):
    """A parser with tokenization, tags and search.

    Words and punctuation marks are separated by white space; parentheses become -LRB- and -RRB-, as
    in treebanks. Every answer is one complete tree over these words, in brackets on one line; see
    `WellFormedTree`.

    Args:
        model: `Parser`, or another `Stepper` with its `encode`, `tag_logits` and `decoder`. If it
            has `attention`, so has the service.
        symbols: `SymbolTable` with WORD, and an opening and a closing bracket for each label.
        tokenizer: `Tokenizer` of the words.
        tags: `SymbolTable`.
        strategy: `Greedy()` or `Beam(...)`; its n best are answered.
        max_length: int. Maximum symbols of a tree, end included.
        max_source: int. Maximum words of a sentence, end included.
        word_pieces: int. Number of leading pieces read per word.
        max_unary_chain: int. Maximum length of a chain of unary constituents.
        max_depth: int. Maximum depth of a tree.

    Raises:
        ValueError: symbols that are not brackets or not the model's; too little room for a tree,
            see `check_room`.
    """

    def __init__(
        self,
        model,
        symbols,
        tokenizer,
        tags,
        strategy,
        max_length,
        max_source,
        word_pieces,
        max_unary_chain,
        max_depth,
    ):
        super().__init__()
        check_room(max_length, max_source)
        self.model, self.symbols, self.tokenizer, self.tags = model, symbols, tokenizer, tags
        self.strategy, self.max_length, self.max_source = strategy, max_length, max_source
        self.word_pieces = word_pieces
        self.max_unary_chain, self.max_depth = max_unary_chain, max_depth
        labels = [name[1:] for name in symbols.names if name.startswith("(")]
        needed = {WORD, *(f"){label}" for label in labels)}
        if missing := sorted(needed - set(symbols.names)):
            raise ValueError(f"Expected symbols with {', '.join(missing)}. Received: none of them")
        self.word, counted = symbols.id_of(WORD), model.counted_token
        if counted not in (None, self.word):
            raise ValueError(
                f"Expected {WORD} at id {counted}, which the model counts. Received: {self.word}"
            )
        self.openings = [symbols.id_of(f"({label}") for label in labels]
        self.closings = [symbols.id_of(f"){label}") for label in labels]
        self.written = [""] * SPECIAL_SYMBOLS
        self.written += [{"(": f" {name}", ")": ")"}.get(name[0], "") for name in symbols.names]

    def answer(self, source):
        """Answers with trees.

        Args:
            source: string (B,), UTF-8, words with white space between them.

        Returns:
            dict: TEXT string (B, n), trees in brackets; SCORE float32 (B, n); ERROR string (B,). A
            sentence that is empty, not UTF-8 or too long has empty texts, scores of 0 and its own
            reason under ERROR; the others are unaffected. Where there are fewer than n trees, the
            others are empty, with a score of −1e9. An empty batch is answered with empty arrays.
        """
        answer = self.explain(source, with_weights=False)
        return {key: answer[key] for key in (TEXT, SCORE, ERROR)}

    @accepts_empty_batch
    def explain(self, source, with_weights=True):
        """Answers with trees, and with the attention to the words for each symbol.

        Args:
            source: string (B,), UTF-8.
            with_weights: bool. Whether WEIGHTS are in the answer.

        Returns:
            dict as of `answer`, with TAGS string (B, S), SOURCE_PIECES string (B, S), the words and
            "</s>", TOKENS, ANSWER_PIECES (the symbols), TOKEN_SCORES, and WEIGHTS
            float32 (B, n, T, S), by word; see `contracts`.
        """
        read = self._read(source)
        result, tags = self._decoded(read, with_weights)
        answer = answer_of(result, self.symbols, read.reasons)
        answer[TEXT] = self._brackets(answer[TOKENS], read.words, tags)
        answer[TAGS] = tags
        answer[SOURCE_PIECES] = read.shown()
        if with_weights:
            readable = read.readable[:, None, None, None]
            answer[WEIGHTS] = tf.where(readable, result.weights, 0.0)
        return answer

    @accepts_empty_batch
    def attention(self, source):
        """Answers with trees and with every attention weight, from a second pass over the best
        tree.

        Args:
            source: string (B,), UTF-8.

        Returns:
            dict: TEXT string (B,), the best tree; ENCODER_WEIGHTS, DECODER_WEIGHTS and
            CROSS_WEIGHTS, see `contracts`, 0 for a padding query; SOURCE_PIECES string (B, S), the
            words, WORD_MARK before each, and "</s>"; ANSWER_PIECES string (B, T), the symbols;
            ERROR string (B,).
        """
        read = self._read(source)
        result, tags = self._decoded(read, with_weights=False)
        targets = result.tokens[:, 0]
        answer, targets = every_weight(self.model, read.tokens, targets, read.readable)
        answer[TEXT] = self._brackets(targets[:, None], read.words, tags)[:, 0]
        marks = tf.where(read.present(), WORD_MARK, "")
        answer[SOURCE_PIECES] = tf.strings.join([marks, read.shown()])
        symbols = self.symbols.pieces(targets)
        answer[ANSWER_PIECES] = tf.where(targets == END_ID, END_PIECE, symbols)
        answer[ERROR] = read.reasons
        return answer

    def signatures(self):
        """The exported signatures: dict from name to a function and its `TensorSpec`s."""
        source = tf.TensorSpec((None,), tf.string, name=SOURCE)
        names = {"serving_default": self.answer, "explain": self.explain}
        if hasattr(self.model, "attention"):
            names["attention"] = self.attention
        return {name: (function, [source]) for name, function in names.items()}

    def requests(self, count):
        """Warm-up requests: dict from signature to inputs, `count` of each."""
        return {name: {SOURCE: [b"a"] * count} for name in self.signatures()}

    def tokenizers(self):
        """dict from folder name to vocabulary."""
        return {"tokenizer": self.symbols, "source_tokenizer": self.tokenizer, "tags": self.tags}

    def metadata(self):
        """Description of the service without its model, of JSON types."""
        names = ("max_length", "max_source", "word_pieces", "max_unary_chain", "max_depth")
        return {**search_of(self.strategy), **{name: getattr(self, name) for name in names}}

    def _read(self, source):
        return read_sentences(source, self.tokenizer, self.max_source - 1, self.word_pieces)

    def _decoded(self, read, with_weights):
        """`DecodeResult` of `Sentences`, and their tags, string (B, S), '' past the words."""
        keys, key_mask, _ = self.model.encode(read.tokens, training=False)
        most = tf.minimum(LENGTH_FACTOR * read.counts + LENGTH_EXTRA, self.max_length)
        trees = WellFormedTree(
            self.openings,
            self.closings,
            self.word,
            read.counts,
            most,
            self.max_unary_chain,
            self.max_depth,
        )
        longest, context = tf.reduce_max(most), (keys, key_mask)
        result = decode(self.model.decoder, context, self.strategy, longest, with_weights, [trees])
        logits = self.model.tag_logits(keys)[..., SPECIAL_SYMBOLS:]
        known = self.tags.pieces(tf.argmax(logits, -1, tf.int32) + SPECIAL_SYMBOLS)
        return result, tf.where(read.present(), known, "")

    def _brackets(self, tokens, words, tags):
        """Trees in brackets, string (B, n): of symbols (B, n, T), words and tags (B, S)."""
        leaves = tf.strings.join([" (", tags, " ", words, ")"])
        says = tf.cast(tokens == self.word, tf.int32)
        place = tf.cumsum(says, axis=2, exclusive=True)
        leaf = tf.gather(leaves, tf.minimum(place, tf.shape(leaves)[1] - 1), batch_dims=1)
        written = tf.where(says > 0, leaf, tf.gather(tf.constant(self.written), tokens))
        return tf.strings.strip(tf.strings.reduce_join(written, axis=2))


def check_room(max_length: int, max_source: int) -> None:
    """Raises ValueError if the longest sentence might not have a short enough tree.

    A sentence has at most max_source − 1 words, and the shortest tree of W words W + 3 symbols.
    """
    if max_length < max_source + 2:
        raise ValueError(
            f"Expected max_length >= max_source + 2 = {max_source + 2}. "
            f"Received: max_length={max_length}, max_source={max_source}"
        )

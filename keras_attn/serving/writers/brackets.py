"""Decoded symbols as trees in brackets."""

from keras_attn.contracts import ANSWER_PIECES, ENCODED, TAGS, TEXT
from keras_attn.decoding import WellFormedTree
from keras_attn.lazy_tensorflow import tf
from keras_attn.serving.writers.writer import Writer
from keras_attn.text.linearization import WORD
from keras_attn.text.symbol_table import SPECIAL_SYMBOLS


class BracketWriter(Writer):
    """Symbols to one complete tree over the words of a sentence, in brackets on one line.

    Where there are fewer than n trees, the others are empty, with a score of −1e9.

    Args:
        symbols: `SymbolTable` with WORD, and an opening and a closing bracket for each label.
        tags: `SymbolTable`.
        max_unary_chain: int. Maximum length of a chain of unary constituents.
        max_depth: int. Maximum depth of a tree.

    Raises:
        ValueError: symbols that are not brackets.
    """

    scores, keeps_length = False, True

    def __init__(self, symbols, tags, max_unary_chain, max_depth):
        self.vocabulary, self.tags = symbols, tags
        self.max_unary_chain, self.max_depth = max_unary_chain, max_depth
        labels = [name[1:] for name in symbols.names if name.startswith("(")]
        needed = {WORD, *(f"){label}" for label in labels)}
        if missing := sorted(needed - set(symbols.names)):
            raise ValueError(f"Expected symbols with {', '.join(missing)}. Received: none of them")
        self.word = symbols.id_of(WORD)
        self.openings = [symbols.id_of(f"({label}") for label in labels]
        self.closings = [symbols.id_of(f"){label}") for label in labels]
        self.written = [""] * SPECIAL_SYMBOLS
        self.written += [{"(": f" {name}", ")": ")"}.get(name[0], "") for name in symbols.names]

    def limits(self, read, most):
        return [
            WellFormedTree(
                self.openings,
                self.closings,
                self.word,
                read.counts,
                most,
                self.max_unary_chain,
                self.max_depth,
            )
        ]

    def strategy(self, strategy, read):
        return strategy

    def write(self, tokens, read, model, context):
        if model.counted_token not in (None, self.word):
            raise ValueError(
                f"Expected {WORD} at id {model.counted_token}, which the model counts. "
                f"Received: {self.word}"
            )
        logits = model.tag_logits(context[ENCODED][0])[..., SPECIAL_SYMBOLS:]
        tags = self.tags.pieces(tf.argmax(logits, -1, tf.int32) + SPECIAL_SYMBOLS)
        tags = tf.where(read.details.present, tags, "")
        return {
            TEXT: self._brackets(tokens, read.details.words, tags),
            ANSWER_PIECES: self.vocabulary.pieces(tokens),
            TAGS: tags,
        }

    def targets(self, texts, read):
        """See `Writer`: given trees are not scored."""
        raise NotImplementedError

    def metadata(self):
        return {"max_unary_chain": self.max_unary_chain, "max_depth": self.max_depth}

    def _brackets(self, tokens, words, tags):
        """Trees in brackets, string (B, n): of symbols (B, n, T), words and tags (B, S)."""
        leaves = tf.strings.join([" (", tags, " ", words, ")"])
        says = tf.cast(tokens == self.word, tf.int32)
        place = tf.cumsum(says, axis=2, exclusive=True)
        leaf = tf.gather(leaves, tf.minimum(place, tf.shape(leaves)[1] - 1), batch_dims=1)
        written = tf.where(says > 0, leaf, tf.gather(tf.constant(self.written), tokens))
        return tf.strings.strip(tf.strings.reduce_join(written, axis=2))

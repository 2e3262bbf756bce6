"""Decoded tokens as plain text."""

from keras_attn.contracts import ANSWER_PIECES, TEXT
from keras_attn.decoding import NoRepeatedNgrams
from keras_attn.serving.writers.writer import Writer


class TextWriter(Writer):
    """Tokens to text.

    Args:
        tokenizer: `Tokenizer`.
        no_repeat_ngram: int ≥ 0. Size of n-grams of pieces that may not repeat in an answer; 0: no
            limit.
    """

    scores, keeps_length = True, False

    def __init__(self, tokenizer, no_repeat_ngram=0):
        self.vocabulary, self.no_repeat_ngram = tokenizer, no_repeat_ngram

    def limits(self, read, most):
        return [NoRepeatedNgrams(self.no_repeat_ngram)] if self.no_repeat_ngram else []

    def strategy(self, strategy, read):
        return strategy

    def write(self, tokens, read, model, context):
        return {
            TEXT: self.vocabulary.decode(tokens),
            ANSWER_PIECES: self.vocabulary.pieces(tokens),
        }

    def targets(self, texts, read):
        return texts

    def metadata(self):
        return {"no_repeat_ngram": self.no_repeat_ngram}

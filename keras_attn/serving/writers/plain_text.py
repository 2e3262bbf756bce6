"""Decoded tokens as plain text."""

from keras_attn.contracts import ANSWER_PIECES, SENTENCES, TEXT
from keras_attn.decoding import FirstToken, ForbiddenTokens, NoRepeatedNgrams
from keras_attn.serving.writers.writer import Writer
from keras_attn.text.detokenize import detokenize, space


class TextWriter(Writer):
    """Tokens to text.

    Args:
        tokenizer: `Tokenizer`.
        no_repeat_ngram: int ≥ 0. Size of n-grams of pieces that may not repeat in an answer; 0: no
            limit.
        sentences: bool. Whether texts are detokenized, if the tokenizer was learned from texts with
            spaces before punctuation.
        prompt: ids of the pieces that every text begins with, see `prompt_ids`.
    """

    scores, keeps_length = True, False

    def __init__(self, tokenizer, no_repeat_ngram=0, sentences=False, prompt=()):
        self.vocabulary, self.no_repeat_ngram = tokenizer, no_repeat_ngram
        self.forced, self.prompt = getattr(tokenizer, "prefix_ids", ()), tuple(prompt)
        self.sentences = sentences and tokenizer.spaced is not None
        self.detokenizes = sentences and bool(tokenizer.spaced)

    def limits(self, read, most):
        limits = [NoRepeatedNgrams(self.no_repeat_ngram)] if self.no_repeat_ngram else []
        if never := getattr(self.vocabulary, "never", ()):
            limits.append(ForbiddenTokens(never))
        return [*map(FirstToken, self.forced), *limits]

    def strategy(self, strategy, read):
        return strategy

    def write(self, tokens, read, model, context):
        texts = self.vocabulary.decode(tokens)
        return {
            TEXT: detokenize(texts) if self.detokenizes else texts,
            ANSWER_PIECES: self.vocabulary.pieces(tokens),
        }

    def targets(self, texts, read):
        return space(texts) if self.detokenizes else texts

    def metadata(self):
        sentences = {SENTENCES: True} if self.sentences else {}
        return {"no_repeat_ngram": self.no_repeat_ngram, **sentences}

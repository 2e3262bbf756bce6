"""Decoded tokens as text whose slots are filled with names."""

from keras_attn.contracts import ANSWER_PIECES, LINKS, PAD_ID, TEXT
from keras_attn.decoding import AllowedTokens, Beam
from keras_attn.decoding.covering import Covering
from keras_attn.lazy_tensorflow import tf
from keras_attn.serving.writers.writer import Writer


class SlotWriter(Writer):
    """Tokens to text, each slot to the name that it stands for.

    An answer has no slot without a name, and of the hypotheses of a beam search those with most of
    the set's slots come first, see `rank_by_coverage`. Answers also say what the model's link
    matrix expects.

    Args:
        tokenizer: `SlotTokenizer`, that of the `FactReader`.
    """

    scores, keeps_length = True, False

    def __init__(self, tokenizer):
        self.vocabulary = tokenizer

    def limits(self, read, most):
        if not self.vocabulary.slots:
            return []
        others = [[0, 0], [self.vocabulary.plain.vocabulary_size, 0]]
        return [AllowedTokens(tf.pad(read.details.names != "", others, constant_values=True))]

    def strategy(self, strategy, read):
        slots = self.vocabulary.slots
        if not slots or not isinstance(strategy, Beam):
            return strategy
        wanted = self.vocabulary.plain.vocabulary_size + tf.range(slots)
        wanted = tf.where(read.details.names != "", wanted, PAD_ID)
        return Covering(strategy, wanted)

    def write(self, tokens, read, model, context):
        facts = read.details
        fill = self.vocabulary.fill
        asking = tf.pad(facts.present, [[0, 0], [1, 0]], constant_values=True)
        asking &= read.readable[:, None]
        links = model.followers(facts.fields, facts.present)
        return {
            TEXT: fill(self.vocabulary.decode(tokens), facts.names),
            ANSWER_PIECES: fill(self.vocabulary.pieces(tokens), facts.names),
            LINKS: tf.where(asking[..., None], links, 0.0),
        }

    def targets(self, texts, read):
        """See `Writer`: with its slot in place of each name."""
        return self.vocabulary.mark(self.vocabulary.normalize(texts), read.details.names)

    def metadata(self):
        return {}

"""Base of models from source tokens to target tokens."""

import keras
from keras import ops

from keras_attn.contracts import PAD_ID, SOURCE, TOKENS
from keras_attn.models.encoder_decoder import EncoderDecoder


class SourceTarget(EncoderDecoder):
    """Abstract: an encoder–decoder whose batches have SOURCE int32 (B, S) and TOKENS int32 (B, T).

    Subclasses set `encoder` and `decoder`, and `source_embedding` unless it is the decoder's, and
    define `encode`, whose result the decoder's `start` takes.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.source_embedding = None  # PyTorch finds a class's attribute before a layer's.

    def build(self, input_shape=None):
        embedding, embedded = self.source_embedding, self.decoder.embedding.output_dim
        if embedding is not None and not embedding.built:
            embedding.build((None, None))
        if not self.encoder.built:
            self.encoder.build((None, None, embedded))
        if not self.decoder.built:
            self.decoder.build((None, None), (None, None, embedded))

    def embedded(self, source):
        """Sources int32 (B, S) as embeddings (B, S, E), and their mask bool (B, S).

        Raises:
            ValueError: another number of axes.
        """
        source = ops.convert_to_tensor(source, dtype="int32")
        if len(source.shape) != 2:
            raise ValueError(
                f"Expected {SOURCE} of shape (B, S). Received: shape={tuple(source.shape)}"
            )
        embedding = self.source_embedding or self.decoder.embedding
        return embedding(source), ops.not_equal(source, PAD_ID)

    def encode(self, source, training=None):
        """What the decoder reads of sources, int32 (B, S)."""
        raise NotImplementedError

    def input_signature(self):
        tokens = keras.InputSpec(dtype="int32", shape=(None, None))
        return {SOURCE: tokens, TOKENS: tokens}

    def start(self, context, length):
        """Stepper: memory and state from source tokens, int32 (B, S), or a dict with SOURCE."""
        source = context[SOURCE] if isinstance(context, dict) else context
        return self.decoder.start(self.encode(source, training=False), length)


def check_pairs(batch) -> None:
    """Raises ValueError unless a batch has as many sources as targets."""
    source, tokens = (tuple(batch[key].shape) for key in (SOURCE, TOKENS))
    if None not in (source[0], tokens[0]) and source[0] != tokens[0]:
        raise ValueError(
            f"Expected as many sources as targets. Received: shapes {source} and {tokens}"
        )

"""Base of models from source tokens to target tokens."""

import keras
from keras import ops

from keras_attn.contracts import PAD_ID, SOURCE, TOKENS
from keras_attn.models.encoder_decoder import EncoderDecoder


class SourceTarget(EncoderDecoder):
    """Abstract: an encoder–decoder whose batches have SOURCE int32 (B, S) and TOKENS int32 (B, T).

    Subclasses set `decoder` and define `encode`, whose result the decoder's `start` takes.
    """

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


def source_tokens(source):
    """Sources as tensors int32 (B, S), and their mask bool (B, S).

    Raises:
        ValueError: another number of axes.
    """
    source = ops.convert_to_tensor(source, dtype="int32")
    if len(source.shape) != 2:
        raise ValueError(
            f"Expected {SOURCE} of shape (B, S). Received: shape={tuple(source.shape)}"
        )
    return source, ops.not_equal(source, PAD_ID)


def check_pairs(batch) -> None:
    """Raises ValueError unless a batch has as many sources as targets."""
    source, tokens = (tuple(batch[key].shape) for key in (SOURCE, TOKENS))
    if None not in (source[0], tokens[0]) and source[0] != tokens[0]:
        raise ValueError(
            f"Expected as many sources as targets. Received: shapes {source} and {tokens}"
        )

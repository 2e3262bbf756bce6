"""Base of the positions that `MultiHeadAttention` takes."""

from keras_attn.layers.base_layer import BaseLayer


class RelativePositions(BaseLayer):
    """Abstract: positions inside attention, by which a score depends on t − s.

    Subclasses turn queries and keys, or add a bias to their scores. One layer may serve all layers
    of a stack; its weights are then shared.
    """

    def build(self, inputs_shape=None):
        """No weights by default."""

    def rotate(self, inputs, positions):
        """Queries or keys (..., D) at int positions that broadcast to the leading axes."""
        return inputs

    def bias(self, query_positions, key_positions):
        """float, broadcastable to (B, H, T, S), from int (T,) or (B, T) and (S,) or (B, S); or
        None for none."""
        return None

    def quantize(self, mode=None, type_check=True, config=None):
        """Refuses by name: `keras.Model.quantize` does not reach an attention with a layer inside.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            f"{type(self).__name__} is not quantized, and keras.Model.quantize does not reach an "
            "attention that holds it: call quantize of the MultiHeadAttention itself"
        )

    def check_heads(self, num_heads, key_dim):
        """Raises ValueError unless it fits heads of this number and width."""

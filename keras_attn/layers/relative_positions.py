"""Bases of the positions that `MultiHeadAttention` takes."""

from keras_attn.checks import check_sizes
from keras_attn.layers.base_layer import BaseLayer


class RelativePositions(BaseLayer):
    """Abstract: positions inside attention, by which a score depends on t − s.

    Subclasses turn queries and keys, or add a bias to their scores. One layer may serve all layers
    of a stack; its weights are then shared.
    """

    def rotate(self, inputs, positions):
        """Queries or keys (..., D) at int positions that broadcast to the leading axes."""
        raise NotImplementedError

    def bias(self, query_positions, key_positions):
        """float, broadcastable to (B, H, T, S), from int (T,) or (B, T) and (S,) or (B, S); or
        None for none."""
        raise NotImplementedError

    def check_heads(self, num_heads, key_dim):
        """Raises ValueError unless it fits heads of this number and width."""
        raise NotImplementedError

    def quantize(self, mode=None, type_check=True, config=None):
        """Refuses by name: `keras.Model.quantize` does not reach an attention with a layer inside.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            f"{type(self).__name__} is not quantized, and keras.Model.quantize does not reach an "
            "attention that holds it: call quantize of the attention itself"
        )


class PositionBias(RelativePositions):
    """Abstract: a bias of scores by head.

    Args:
        num_heads: int > 0. H.

    Call arguments:
        query_positions: int (T,) or (B, T).
        key_positions: int (S,) or (B, S).

    Returns:
        (H, T, S) or (B, H, T, S).

    Raises:
        ValueError: num_heads < 1.
    """

    def __init__(self, num_heads, **kwargs):
        super().__init__(**kwargs)
        check_sizes(num_heads=num_heads)
        self.num_heads = num_heads

    def rotate(self, inputs, positions):
        return inputs

    def check_heads(self, num_heads, key_dim):
        if self.num_heads != num_heads:
            raise ValueError(
                f"Expected {type(self).__name__} of num_heads={num_heads}, as the attention has. "
                f"Received: num_heads={self.num_heads}"
            )

    def compute_output_shape(self, query_positions_shape, key_positions_shape):
        *queries, length = query_positions_shape
        *keys, size = key_positions_shape
        return (*(queries or keys), self.num_heads, length, size)


def check_positions(positions, num_heads, key_dim):
    """Raises ValueError unless they are positions that fit heads of this number and width, or
    None."""
    if positions is None:
        return
    if not isinstance(positions, RelativePositions):
        raise ValueError(
            "Expected positions to be RotaryPositions, AlibiBias or RelativeBias. "
            f"Received: positions={positions!r}"
        )
    positions.check_heads(num_heads, key_dim)

"""Where every head of a Vision Transformer looked, and pictures of it."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PictureHeads:
    """The attention weights of one picture, of every block and head.

    Attributes:
        weights: float array (N, H, S, S), rows sum to 1; S is the grid's cells, and more where a
            class token stands before them, or that and registers.
        grid: (height, width) in patches.

    Raises:
        ValueError: weights of other axes, or of another number of places than the grid's.

    Example:
        >>> heads = PictureHeads(np.full((2, 3, 36, 36), 1 / 36), (5, 7))
        >>> heads.rollout().shape, heads.maps().shape
        ((5, 7), (2, 3, 5, 7))
    """

    weights: np.ndarray
    grid: tuple[int, int]

    def __post_init__(self):
        cells, shape = self.grid[0] * self.grid[1], np.shape(self.weights)
        fits = len(shape) == 4 and shape[2] == shape[3] and shape[3] >= cells
        if not fits or 0 in shape:
            raise ValueError(
                f"Expected weights (N, H, S, S) with S >= {cells} for a grid of "
                f"{self.grid}. Received: weights of shape {shape}"
            )

    @classmethod
    def of(cls, weights, grid, row: int = 0) -> "PictureHeads":
        """From the weights that `VisionTransformer.pool` returned.

        Args:
            weights: tuple of N tensors (B, H, S, S).
            grid: (height, width) in patches, of the pictures that it read.
            row: int. Which picture.
        """
        return cls(np.stack([np.asarray(layer[row], "float32") for layer in weights]), tuple(grid))

    def maps(self) -> np.ndarray:
        """Where each head looked from the class token, or on average over all patches.

        Returns:
            float array (N, H, grid height, grid width); each map sums to 1 less what the class
            token gave to itself and to registers.
        """
        return self._seen(np.asarray(self.weights))

    def rollout(self) -> np.ndarray:
        """How much of each patch is in the class token at the end, or in the mean of the patches.

        Returns:
            float array (grid height, grid width), see `keras_attn.ops.rollout`.
        """
        from keras_attn.ops.rollout import attention_rollout  # With Keras, for one picture.

        rows = attention_rollout(np.asarray(self.weights)[:, None])
        return self._seen(np.asarray(rows[0], "float32"))

    def _seen(self, rows):
        """(..., S, S) to (..., grid height, grid width)."""
        cells = self.grid[0] * self.grid[1]
        has_token = rows.shape[-1] > cells
        seen = rows[..., 0, -cells:] if has_token else rows.mean(axis=-2)
        return seen.reshape(*seen.shape[:-1], *self.grid)

    def rollout_figure(self, picture):
        """The picture, and the picture lit up by `rollout`; see the function `rollout_figure`."""
        from keras_attn.viz.picture_panels import rollout_figure

        return rollout_figure(picture, self.rollout())

    def heads_figure(self, picture):
        """The picture once for each block and head, lit up by `maps`; bright is each one's largest.

        Args:
            picture: uint8 (height, width, 3).

        Returns:
            matplotlib Figure.
        """
        from keras_attn.viz.picture_panels import panels_figure

        blocks, heads = (
            [f"{name} {place + 1}" for place in range(count)]
            for name, count in zip(("block", "head"), np.shape(self.weights))
        )
        return panels_figure(picture, self.maps(), blocks, heads)

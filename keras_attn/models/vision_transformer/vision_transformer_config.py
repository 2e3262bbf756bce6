"""Sizes of a Vision Transformer, and those of the paper's models."""

import numbers
from dataclasses import dataclass

from keras_attn.checks import (
    check_above,
    check_choice,
    check_flag,
    check_probability,
    check_sizes,
)
from keras_attn.layers.feed_forward import ACTIVATIONS, GELU

TOKEN, MEAN, ATTENTION = "token", "mean", "attention"
SILU = "silu"


@dataclass(frozen=True)
class VisionTransformerConfig:
    """Sizes and choices of a `VisionTransformer`; the defaults are ViT-B/16's.

    Attributes:
        image_size: (height, width) in pixels that the table of positions is for.
        patch_size: int. P, pixels a side; divides height and width.
        num_layers: int. N.
        hidden_dim: int. D.
        intermediate_dim: int. Width of the feed-forward net's hidden layer.
        num_heads: int. H; divides D, a head is D / H wide.
        dropout: probability. On sublayers' outputs and on patches with positions.
        pooling: "token", the output at a learned class token prepended to the patches; "mean",
            the mean of the patches after the last normalization; or "attention", what a learned
            query reads from them, see `MultiHeadPooling`.
        activation: "gelu", "gelu_tanh", "quick_gelu", "relu" or "silu". Of the feed-forward net.
        epsilon: float > 0. Of the layer normalizations.
        num_classes: int or None. Classes of an `ImageClassifier`; None is no head.
        representation_dim: int or None. Width R of a tanh layer after pooling, as in the paper's
            pretraining; None is no such layer.
        pixel_mean: three floats, of red, green and blue: μ of (x / 255 − μ) / σ.
        pixel_deviation: three floats > 0. σ.
        gated: bool. Whether the feed-forward nets are gated, see `FeedForward`.
        num_registers: int >= 0. Learned tokens without positions between class token and patches,
            which are no features; only with pooling "token".
        normalize_embeddings: bool. Whether z_0 is normalized, before the blocks.
        normalize_patches: bool. Whether features of patches are after the last normalization, as a
            picture's vector always is.
        antialias_positions: bool. See `GridPositions`.
        rotary_base: float > 1 or None. Base of `GridRotaryPositions` in every block, in place of
            the table of positions; pictures then have no other size than image_size.

    Raises:
        ValueError: a size < 1; a patch_size that does not divide image_size; heads that do not
            divide hidden_dim; a probability outside [0, 1); an unknown choice.

    Source: Dosovitskiy et al. 2021, arXiv:2010.11929, Table 1; μ = σ = ½ and epsilon are the
    authors' program's, whose "gelu" is "gelu_tanh" here. Registers Darcet et al. 2023,
    arXiv:2309.16588; normalize_embeddings without normalize_patches Radford et al. 2021,
    arXiv:2103.00020; "attention" Zhai et al. 2023, arXiv:2303.15343.
    """

    image_size: tuple[int, int] = (224, 224)
    patch_size: int = 16
    num_layers: int = 12
    hidden_dim: int = 768
    intermediate_dim: int = 3072
    num_heads: int = 12
    dropout: float = 0.0
    pooling: str = TOKEN
    activation: str = GELU
    epsilon: float = 1e-6
    num_classes: int | None = None
    representation_dim: int | None = None
    pixel_mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    pixel_deviation: tuple[float, float, float] = (0.5, 0.5, 0.5)
    gated: bool = False
    num_registers: int = 0
    normalize_embeddings: bool = False
    normalize_patches: bool = True
    antialias_positions: bool = False
    rotary_base: float | None = None

    def __post_init__(self):
        for name in ("image_size", "pixel_mean", "pixel_deviation"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("patch_size", "num_layers", "hidden_dim", "intermediate_dim", "num_heads"):
            check_sizes(**{name: getattr(self, name)})
        for name in ("num_classes", "representation_dim"):
            if getattr(self, name) is not None:
                check_sizes(**{name: getattr(self, name)})
        self._check_sizes()
        self._check_choices()

    def _check_sizes(self):
        patch, size = self.patch_size, self.image_size
        if len(size) != 2 or not all(isinstance(side, int) and side > 0 for side in size):
            raise ValueError(f"Expected two sizes >= 1. Received: image_size={size}")
        if any(side % patch for side in size):
            raise ValueError(
                f"Expected multiples of patch_size={patch}. Received: image_size={size}"
            )
        if self.hidden_dim % self.num_heads:
            raise ValueError(
                f"Expected hidden_dim divisible by num_heads={self.num_heads}. "
                f"Received: hidden_dim={self.hidden_dim}"
            )

    def _check_choices(self):
        check_choice("pooling", self.pooling, (TOKEN, MEAN, ATTENTION))
        check_choice("activation", self.activation, (*ACTIVATIONS, SILU))
        for name in ("gated", "normalize_embeddings", "normalize_patches", "antialias_positions"):
            check_flag(name, getattr(self, name))
        most = float("inf") if self.pooling == TOKEN else 0
        if not (isinstance(self.num_registers, int) and 0 <= self.num_registers <= most):
            raise ValueError(
                f"Expected num_registers >= 0, and 0 without pooling={TOKEN!r}. "
                f"Received: num_registers={self.num_registers}, pooling={self.pooling!r}"
            )
        check_probability("dropout", self.dropout)
        if self.rotary_base is not None:
            check_above("rotary_base", self.rotary_base, 1)
        if not self.epsilon > 0:
            raise ValueError(f"Expected epsilon > 0. Received: epsilon={self.epsilon}")
        for name, low in (("pixel_mean", float("-inf")), ("pixel_deviation", 0)):
            values = getattr(self, name)
            real = all(isinstance(value, numbers.Real) and value > low for value in values)
            if len(values) != 3 or not real:
                raise ValueError(f"Expected {name} of three numbers > {low}. Received: {values}")

    @property
    def grid(self):
        """(height, width) of the table of positions, in patches."""
        return tuple(side // self.patch_size for side in self.image_size)

    @property
    def pooled_dim(self):
        """Width of a picture's vector."""
        return self.representation_dim or self.hidden_dim

    @property
    def block(self):
        """Arguments of a block."""
        return {
            "num_heads": self.num_heads,
            "key_dim": self.hidden_dim // self.num_heads,
            "value_dim": None,
            "intermediate_dim": self.intermediate_dim,
            "dropout": self.dropout,
            "normalize_first": True,
            "use_bias": True,
            "epsilon": self.epsilon,
            "activation": self.activation,
            "gated": self.gated,
        }


def _sizes(layers, hidden_dim, heads, intermediate_dim):
    return {
        "num_layers": layers,
        "hidden_dim": hidden_dim,
        "num_heads": heads,
        "intermediate_dim": intermediate_dim,
    }


_SIZES = {
    "ti": _sizes(12, 192, 3, 768),
    "s": _sizes(12, 384, 6, 1536),
    "b": _sizes(12, 768, 12, 3072),
    "l": _sizes(24, 1024, 16, 4096),
}
VIT_PRESETS = {
    f"vit_{name}{patch_size}": VisionTransformerConfig(patch_size=patch_size, **sizes)
    for name, sizes in _SIZES.items()
    for patch_size in (16, 32)
}
"""The paper's models for 224 × 224 pixels by name, "vit_ti16" to "vit_l32", without a head; Ti and
S are Touvron et al. 2021's, arXiv:2012.12877. `dataclasses.replace(preset, num_classes=1000)`
changes one."""

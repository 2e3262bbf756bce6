"""What `vision_speed` lets every contender do: sizes and works. It needs NumPy alone."""

from dataclasses import asdict, dataclass

import numpy as np

FORWARD, TRAIN = "ViT forward", "ViT training"
STRATEGIES = {"greedy": 1, "beam 4": 4}
BATCHES = (1, 32)
CAPTIONS = {
    f"{name}, batch {batch}": (beams, batch)
    for batch in BATCHES
    for name, beams in STRATEGIES.items()
}
"""Work -> (beams, pictures at once)."""
CAPTIONED = max(BATCHES)
"""Pictures that such a work captions, one batch after another."""


@dataclass(frozen=True)
class Task:
    """Sizes; by default ViT-B/16, and a ViT-Ti with a decoder of 3 layers of width 192.

    Attributes:
        size: int. Height and width of pictures in pixels.
        patch: int. Pixels of a patch's side.
        layers, units, hidden, heads: int. Of the encoder.
        pictures: int. In a forward pass and in a training step.
        tiny_layers, tiny_units, tiny_heads: int. Of the captioner's encoder, 4 times as wide inside
            its feed-forward nets; its decoder has the same width and heads.
        decoder_layers, vocabulary, length: int. Of the decoder, and tokens of a caption.
        cores: int. Threads that a contender may use.
    """

    size: int = 224
    patch: int = 16
    layers: int = 12
    units: int = 768
    hidden: int = 3072
    heads: int = 12
    pictures: int = 8
    tiny_layers: int = 12
    tiny_units: int = 192
    tiny_heads: int = 3
    decoder_layers: int = 3
    vocabulary: int = 2600
    length: int = 16
    cores: int = 2

    def items(self, work):
        """Pictures of a work."""
        return CAPTIONED if work in CAPTIONS else self.pictures

    def images(self, count):
        """uint8 (count, size, size, 3)."""
        shape = (count, self.size, self.size, 3)
        return np.random.default_rng(1).integers(0, 256, shape, "uint8")

    def settings(self, **more):
        """The JSON object that a worker gets."""
        return {"task": asdict(self), **more}


def turns(batch):
    """One for each batch of a work that captions."""
    return range(CAPTIONED // batch)

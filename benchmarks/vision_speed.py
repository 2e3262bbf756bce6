"""How fast a ViT-B/16 reads and trains, and a small ViT with a decoder captions, beside others.

Run as `python -m benchmarks.vision_speed --peer-python PYTHON…`, Pythons with transformers and
torch, or keras-hub; a peer that none of them has is left out. The encoder is a ViT-B/16 on 8
pictures of 224×224: a forward pass, and a training step with Adam. The captioner is a ViT-Ti/16
with a pre-norm decoder of 3 layers of width 192, vocabulary 2,600, captions of 16 tokens, beside
transformers' VisionEncoderDecoder of a ViT-Ti and a GPT-2 of the same sizes; a work captions 32
pictures, at once or one after another. Each contender is a process of its own with the same number
of threads and random weights; a turn does a work with each of them.

Rates are pictures or captions a second, medians over the turns; in brackets the median over the
turns of the contender's rate by keras-attn's in float32. This module needs NumPy alone.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.race import OURS, Contender, Race, Results, race_command

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
ENCODE, CAPTION = "encoder", "captioner"
WORKS = (FORWARD, TRAIN, *CAPTIONS)


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


def turns(batch):
    """One for each batch of a work that captions."""
    return range(CAPTIONED // batch)


def contenders() -> list[Contender]:
    """All that there are."""

    def both(name, package, module, low, captions=True):
        """A contender in float32 and in bfloat16."""
        for title, policy in ((name, "float32"), (f"{name}, bfloat16", low)):
            phases = {ENCODE: {"policy": policy, "captions": False}}
            if captions:
                phases[CAPTION] = {"policy": policy, "captions": True}
            yield Contender(title, package, f"benchmarks.{module}", phases)

    return [
        *both(OURS, None, "our_vision", "mixed_bfloat16"),
        *both("transformers on torch", "transformers", "torch_vision", "bfloat16"),
        *both("keras-hub", "keras_hub", "keras_hub_vision", "mixed_bfloat16", False),
    ]


def measured(task, options, folder) -> tuple[Race, Results]:
    """The race and its results."""
    race = Race(task, contenders(), options, folder)
    return race, race.run({ENCODE: (FORWARD, TRAIN), CAPTION: tuple(CAPTIONS)})


def compare(task, options, folder) -> str:
    """The table."""
    race, results = measured(task, options, folder)
    return race.table(results, WORKS, digits=1)


if __name__ == "__main__":
    race_command(__doc__, Task, compare, 5, WORKS)

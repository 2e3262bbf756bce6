"""What `sampling_speed` lets every contender do. It needs NumPy alone."""

from dataclasses import asdict, dataclass, field

import numpy as np

FORWARD, GRADIENTS = "forward", "with gradients"
CALLS = 5


@dataclass(frozen=True)
class Task:
    """Every picture read through an affine map of its own, bilinearly, with zeros outside.

    Attributes:
        cores: int. Threads that a contender may use.
        shapes: list of (B, H, W, C).
    """

    cores: int = 2
    shapes: list[tuple[int, ...]] = field(
        default_factory=lambda: [(32, 64, 64, 32), (32, 224, 224, 3), (8, 512, 512, 3)]
    )

    def sizes(self):
        """dict from a size's name to its shape."""
        return {"×".join(map(str, shape)): tuple(shape) for shape in self.shapes}

    def works(self, size):
        """Names of the works of a size."""
        return [f"{size}, {kind}" for kind in (FORWARD, GRADIENTS)]

    def items(self, work):
        """Calls of a work."""
        return CALLS

    def arrays(self, size):
        """images float32 (B, H, W, C), θ (B, 2, 3), and what gradients begin with, as images."""
        random, shape = np.random.default_rng(1), self.sizes()[size]
        images, upstream = (random.normal(size=shape).astype("float32") for _ in range(2))
        theta = np.array([[0.9, 0.1, 0.05], [-0.1, 0.8, 0.1]])
        theta = theta + 0.05 * random.normal(size=(shape[0], 2, 3))
        return images, theta.astype("float32"), upstream

    def settings(self, **more):
        """The JSON object that a worker gets."""
        return {"task": asdict(self), **more}

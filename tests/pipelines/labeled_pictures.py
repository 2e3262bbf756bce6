"""Folders of drawn pictures for tests of classification: one shape, labeled by its color."""

import numpy as np

from keras_attn_pipelines.demo.scenes import COLORS, Scene, draw, sample_scene

TINY = {
    "image_size": 24,
    "patch_size": 8,
    "num_layers": 2,
    "hidden_dim": 14,
    "intermediate_dim": 11,
    "num_heads": 2,
    "batch_size": 5,
    "epochs": 2,
}
"""Field values with which `vit_classifier` trains on them in seconds."""
LABELS = sorted(COLORS)


def shape_of(label, random):
    """A picture of one shape, of a color or, where that is no color, of any."""
    while True:
        first = sample_scene(random).objects[0]
        if first.color == label or label not in COLORS:
            return draw(Scene((first,), 231), random)


def write_classes(folder, splits=(("train", 4), ("dev", 2), ("test", 1)), labels=LABELS):
    """So many pictures of each label in folder/split/label; a split '' is folder/label."""
    random = np.random.default_rng(3)
    for split, count in splits:
        for label in labels:
            own = folder / split / label
            own.mkdir(parents=True)
            for index in range(count):
                shape_of(label, random).save(own / f"{index}.png")
    return folder

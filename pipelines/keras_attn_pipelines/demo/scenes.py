"""Drawn scenes: pictures of a few colored shapes, each with exactly one caption."""

import csv
import functools
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from keras_attn.progress import Progress

IMAGE_SIZE = 64
COLORS = {
    "red": (214, 39, 40),
    "green": (34, 150, 60),
    "blue": (40, 80, 220),
    "yellow": (240, 205, 30),
    "purple": (150, 60, 190),
    "black": (25, 25, 25),
}
SHAPES = ("circle", "square", "triangle", "cross", "star")
RADII = {"small": (5, 6), "large": (9, 11)}
HELD_OUT_PAIRS = (("red", "triangle"), ("blue", "star"), ("yellow", "circle"))
MARGIN = 8
"""Minimum difference of positions that the caption depends on, in pixels: one attention cell."""


@dataclass(frozen=True)
class SceneObject:
    """One shape.

    Attributes:
        color: key of COLORS.
        shape: one of SHAPES.
        size: "small" or "large".
        box: (left, top, right, bottom), pixels, right and bottom exclusive.
    """

    color: str
    shape: str
    size: str
    box: tuple[int, int, int, int]

    @property
    def center(self) -> tuple[float, float]:
        """(x, y) in pixels."""
        left, top, right, bottom = self.box
        return (left + right) / 2, (top + bottom) / 2


@dataclass(frozen=True)
class Scene:
    """Objects from left to right, which is the order in which the caption names them.

    "b" after "a" is "left of" it where their centers differ more in x than in y, otherwise a is
    "above" or "below" b.

    Attributes:
        objects: tuple of `SceneObject`, by x of the center.
        background: gray level, 0 to 255.
    """

    objects: tuple[SceneObject, ...]
    background: int = 235

    @property
    def caption(self) -> str:
        """The one caption of the scene."""
        return " ".join(self._words()[0])

    @property
    def phrases(self) -> tuple[tuple[int, int], ...]:
        """For each object (start, stop) of its size, color and shape in caption.split()."""
        return tuple(self._words()[1])

    def _words(self):
        words, phrases = [], []
        for index, item in enumerate(self.objects):
            if index:
                words += relation(self.objects[index - 1], item).split()
            words.append("a")
            phrases.append((len(words), len(words) + 3))
            words += [item.size, item.color, item.shape]
        return words, phrases


def relation(first: SceneObject, second: SceneObject) -> str:
    """Relation of the first object to the second, which is not left of it."""
    across = second.center[0] - first.center[0]
    down = second.center[1] - first.center[1]
    if across > abs(down):
        return "left of"
    return "above" if down > 0 else "below"


def sample_scene(random: np.random.Generator, pairs=None) -> Scene:
    """Draws a scene of one to three objects that do not touch, with clear relations.

    Args:
        random: NumPy generator.
        pairs: allowed (color, shape) pairs; all of them if None.
    """
    pairs = [(color, shape) for color in COLORS for shape in SHAPES] if pairs is None else pairs
    background = int(random.integers(215, 256))
    count = random.integers(1, 4)
    while True:
        objects = [_sample_object(random, pairs) for _ in range(count)]
        objects.sort(key=lambda item: item.center[0])
        if _is_clear(objects):
            return Scene(tuple(objects), background)


def _sample_object(random, pairs):
    pair, size, edge, across, down = random.random(5).tolist()
    color, shape = pairs[int(pair * len(pairs))]
    size = ("small", "large")[int(size * 2)]
    low, high = RADII[size]
    radius = low + int(edge * (high - low + 1))
    room = IMAGE_SIZE - 2 * radius - 1
    left, top = 1 + int(across * room), 1 + int(down * room)
    return SceneObject(color, shape, size, (left, top, left + 2 * radius, top + 2 * radius))


def _is_clear(objects):
    for index, first in enumerate(objects):
        for second in objects[index + 1 :]:
            across = second.center[0] - first.center[0]
            down = abs(second.center[1] - first.center[1])
            if across < MARGIN or abs(across - down) < MARGIN or _touch(first.box, second.box):
                return False
    return True


def _touch(first, other, gap=3):
    return (
        first[0] < other[2] + gap
        and other[0] < first[2] + gap
        and first[1] < other[3] + gap
        and other[1] < first[3] + gap
    )


def draw(scene: Scene, random: np.random.Generator | None = None) -> Image.Image:
    """The scene as an RGB picture of IMAGE_SIZE, the background with light noise from `random`."""
    gray = np.full((IMAGE_SIZE, IMAGE_SIZE), scene.background, "int16")
    if random is not None:
        gray += random.integers(-6, 7, size=gray.shape, dtype="int8")
    picture = Image.fromarray(np.clip(gray, 0, 255).astype("uint8")).convert("RGB")
    for item in scene.objects:
        left, top, right, _ = item.box
        picture.paste(COLORS[item.color], (left, top), _stencil(item.shape, right - left))
    return picture


@functools.cache
def _stencil(shape, size):
    """Coverage of each pixel of a shape's box, 0 to 255."""
    scale = 8
    stencil = Image.new("L", (size * scale,) * 2, 0)
    _draw_shape(ImageDraw.Draw(stencil), shape, (0, 0, size * scale - 1, size * scale - 1), 255)
    return stencil.resize((size, size), Image.Resampling.BOX)


def _draw_shape(pencil, shape, box, color):
    left, top, right, bottom = box
    x, y, radius = (left + right) / 2, (top + bottom) / 2, (right - left) / 2
    if shape == "circle":
        pencil.ellipse(box, fill=color)
    elif shape == "square":
        pencil.rectangle(box, fill=color)
    elif shape == "triangle":
        pencil.polygon([(x, top), (right, bottom), (left, bottom)], fill=color)
    elif shape == "cross":
        arm = radius * 0.36
        pencil.rectangle((left, y - arm, right, y + arm), fill=color)
        pencil.rectangle((x - arm, top, x + arm, bottom), fill=color)
    else:
        angles = -np.pi / 2 + np.arange(10) * np.pi / 5
        reach = radius * np.where(np.arange(10) % 2, 0.42, 1.0)
        points = zip(x + reach * np.cos(angles), y + reach * np.sin(angles))
        pencil.polygon([(float(a), float(b)) for a, b in points], fill=color)


def drawn_pictures(count: int, seed: int = 0) -> list[bytes]:
    """Draws scenes, each as the bytes of a PNG file."""
    random, files = np.random.default_rng(seed), []
    for _ in range(count):
        file = io.BytesIO()
        draw(sample_scene(random), random).save(file, "PNG")
        files.append(file.getvalue())
    return files


def write_scenes(
    folder,
    train: int = 13000,
    dev: int = 250,
    test: int = 500,
    novel: int = 500,
    seed: int = 0,
    held_out_pairs: Sequence[tuple[str, str]] = HELD_OUT_PAIRS,
) -> Path:
    """Writes a data folder of distinct scenes.

    captions.csv, images/, train.txt, dev.txt, test.txt and novel_pairs.txt (scenes with a pair of
    color and shape that never occurs in training), scenes.json (boxes and phrases of each picture,
    for `pointing_accuracy`).

    Args:
        folder: path, new or empty.
        train: int. Scenes for training; likewise dev, test and novel.
        seed: int.
        held_out_pairs: (color, shape) pairs excluded from train, dev and test.

    Returns:
        the folder.

    Raises:
        ValueError: the folder is not empty.
    """
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"Expected a new or empty folder. Received: {folder}")
    (folder / "images").mkdir(parents=True, exist_ok=True)
    random, held_out = np.random.default_rng(seed), set(held_out_pairs)
    known = [
        (color, shape) for color in COLORS for shape in SHAPES if (color, shape) not in held_out
    ]
    splits = {"train": train, "dev": dev, "test": test, "novel_pairs": novel}
    seen, rows, described = set(), [], {}
    with Progress("drawing scenes", sum(splits.values()), "scene") as progress:
        for split, count in splits.items():
            names: list[str] = []
            while len(names) < count:
                scene = sample_scene(random, None if split == "novel_pairs" else known)
                novel_scene = any((item.color, item.shape) in held_out for item in scene.objects)
                if scene.objects in seen or novel_scene != (split == "novel_pairs"):
                    continue
                seen.add(scene.objects)
                names.append(f"{split}_{len(names):05d}.png")
                picture = draw(scene, random)
                picture.save(folder / "images" / names[-1], compress_level=0)
                rows.append((names[-1], scene.caption))
                described[names[-1]] = {
                    "objects": [vars(item) for item in scene.objects],
                    "phrases": scene.phrases,
                }
                progress.update()
            (folder / f"{split}.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    with (folder / "captions.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("image", "caption"), *rows])
    (folder / "scenes.json").write_text(json.dumps(described), encoding="utf-8")
    return folder

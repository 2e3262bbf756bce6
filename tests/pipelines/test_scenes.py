import csv
import itertools
import json

import numpy as np
import pytest
from PIL import Image

from keras_attn_pipelines.demo.scenes import (
    COLORS,
    HELD_OUT_PAIRS,
    IMAGE_SIZE,
    MARGIN,
    RADII,
    SHAPES,
    Scene,
    SceneObject,
    draw,
    relation,
    sample_scene,
    write_scenes,
)

SPLITS = {"train": 113, "dev": 7, "test": 13, "novel_pairs": 11}


@pytest.fixture(scope="module")
def scenes():
    random = np.random.default_rng(3)
    return [sample_scene(random) for _ in range(503)]


def write(folder, **changes):
    counts = {"train": 113, "dev": 7, "test": 13, "novel": 11}
    return write_scenes(folder, **counts | {"seed": 5} | changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("scenes") / "data")


def names_of(folder, split):
    return (folder / f"{split}.txt").read_text(encoding="utf-8").split()


def described(folder):
    return json.loads((folder / "scenes.json").read_text(encoding="utf-8"))


def captions_of(folder):
    with (folder / "captions.csv").open(encoding="utf-8", newline="") as file:
        return {row["image"]: row["caption"] for row in csv.DictReader(file)}


def an_object(x, y, color="red", shape="circle", size="small", radius=5):
    return SceneObject(color, shape, size, (x - radius, y - radius, x + radius, y + radius))


def test_a_caption_names_the_objects_from_left_to_right():
    scene = Scene(
        (
            an_object(10, 50, "red", "square"),
            an_object(30, 19, "blue", "star", "large", 10),
            an_object(53, 31, "black", "cross"),
        )
    )
    assert scene.caption == (
        "a small red square below a large blue star left of a small black cross"
    )
    words = scene.caption.split()
    assert [" ".join(words[slice(*phrase)]) for phrase in scene.phrases] == [
        "small red square",
        "large blue star",
        "small black cross",
    ]


@pytest.mark.parametrize(
    "x, y, words",
    [(43, 20, "left of"), (43, 40, "left of"), (27, 7, "below"), (27, 53, "above")],
)
def test_a_relation_follows_the_larger_distance(x, y, words):
    assert relation(an_object(20, 30), an_object(x, y)) == words


def expected_caption(scene):
    """The rule once more, from the boxes alone."""
    places = sorted(
        (item.box[0] + item.box[2], item.box[1] + item.box[3], item) for item in scene.objects
    )
    text = ""
    for index, (x, y, item) in enumerate(places):
        if index:
            dx, dy = x - places[index - 1][0], y - places[index - 1][1]
            text += " left of " if dx > abs(dy) else " above " if dy > 0 else " below "
        text += f"a {item.size} {item.color} {item.shape}"
    return text


def test_every_caption_follows_the_rule(scenes):
    assert [scene.caption for scene in scenes] == [expected_caption(scene) for scene in scenes]


def test_places_that_a_caption_depends_on_differ_clearly(scenes):
    for scene in scenes:
        for item, other in itertools.combinations(scene.objects, 2):
            across = other.center[0] - item.center[0]
            down = abs(other.center[1] - item.center[1])
            assert across >= MARGIN
            assert abs(across - down) >= MARGIN


def test_objects_lie_in_the_picture_and_do_not_overlap(scenes):
    for scene in scenes:
        for item in scene.objects:
            assert min(item.box) >= 0
            assert max(item.box) <= IMAGE_SIZE
        for box, other in itertools.combinations([item.box for item in scene.objects], 2):
            right, left = min(box[2], other[2]), max(box[0], other[0])
            bottom, top = min(box[3], other[3]), max(box[1], other[1])
            assert right < left or bottom < top


def test_sizes_are_far_apart(scenes):
    edges = {"small": [], "large": []}
    for item in (item for scene in scenes for item in scene.objects):
        left, top, right, bottom = item.box
        assert right - left == bottom - top
        edges[item.size].append(right - left)
    assert max(edges["small"]) * 1.5 <= min(edges["large"])


def test_samples_show_everything(scenes):
    objects = [item for scene in scenes for item in scene.objects]
    assert {len(scene.objects) for scene in scenes} == {1, 2, 3}
    pairs = {(item.color, item.shape) for item in objects}
    assert pairs == set(itertools.product(COLORS, SHAPES))
    words = {word for scene in scenes for word in scene.caption.split()}
    assert words >= {"left", "of", "above", "below", "a", "small", "large"}
    assert len(words) <= 20


def test_samples_depend_on_the_generator_alone():
    first, second = (sample_scene(np.random.default_rng(7)) for _ in range(2))
    assert first == second


def test_pairs_limit_what_is_sampled():
    pairs = [("red", "star"), ("blue", "cross")]
    random = np.random.default_rng(11)
    shown = {
        (item.color, item.shape) for _ in range(31) for item in sample_scene(random, pairs).objects
    }
    assert shown == set(pairs)


def far_from(color, picture):
    """(height, width): largest channel difference of each pixel to a color."""
    return np.abs(np.asarray(picture, "int16") - np.array(color)).max(-1)


def test_boxes_hold_the_drawn_colors_and_the_rest_is_background(scenes):
    for scene in scenes[:101]:
        picture = draw(scene)
        outside = np.ones((IMAGE_SIZE, IMAGE_SIZE), bool)
        for item in scene.objects:
            left, top, right, bottom = item.box
            inside = far_from(COLORS[item.color], picture)[top:bottom, left:right] == 0
            assert inside[(bottom - top) // 2, (right - left) // 2]
            assert inside.mean() > 0.1
            drawn = far_from((scene.background,) * 3, picture)[top:bottom, left:right] > 20
            assert drawn[:3].any()
            assert drawn[-3:].any()
            assert drawn[:, :3].any()
            assert drawn[:, -3:].any()
            outside[max(top - 1, 0) : bottom + 1, max(left - 1, 0) : right + 1] = False
        assert (far_from((scene.background,) * 3, picture)[outside] == 0).all()


def test_noise_is_light_and_only_there_where_asked_for(scenes):
    clean, noisy = draw(scenes[0]), draw(scenes[0], np.random.default_rng(13))
    difference = np.abs(np.asarray(noisy, "int16") - np.asarray(clean, "int16"))
    assert 0 < difference.max() <= 8
    assert clean.size == noisy.size == (IMAGE_SIZE, IMAGE_SIZE)
    assert clean.tobytes() == draw(scenes[0]).tobytes()


def test_shapes_differ_clearly_even_where_they_are_smallest():
    radius = RADII["small"][0]
    masks = {
        shape: far_from((235,) * 3, draw(Scene((an_object(31, 31, shape=shape, radius=radius),))))
        > 90
        for shape in SHAPES
    }
    for shape, other in itertools.combinations(SHAPES, 2):
        assert (masks[shape] != masks[other]).sum() >= 0.12 * (2 * radius) ** 2


def test_colors_differ_clearly_from_each_other_and_from_the_background():
    colors = [*COLORS.values(), (215,) * 3]
    for color, other in itertools.combinations(colors, 2):
        assert np.abs(np.subtract(color, other)).max() >= 60


def test_a_folder_has_all_its_pictures_and_captions(folder):
    names = {split: names_of(folder, split) for split in SPLITS}
    assert {split: len(own) for split, own in names.items()} == SPLITS
    every = set(itertools.chain(*names.values()))
    assert len(every) == sum(SPLITS.values())
    assert every == {path.name for path in (folder / "images").iterdir()}
    assert every == set(captions_of(folder)) == set(described(folder))
    with Image.open(folder / "images" / names["dev"][0]) as picture:
        assert (picture.size, picture.mode) == ((IMAGE_SIZE, IMAGE_SIZE), "RGB")


def test_boxes_and_phrases_on_disk_fit_captions_and_pictures(folder):
    for name, caption in captions_of(folder).items():
        scene = described(folder)[name]
        objects = [SceneObject(**item | {"box": tuple(item["box"])}) for item in scene["objects"]]
        assert Scene(tuple(objects)).caption == caption
        said = [caption.split()[slice(*phrase)] for phrase in scene["phrases"]]
        assert said == [[item.size, item.color, item.shape] for item in objects]
        with Image.open(folder / "images" / name) as picture:
            for item in objects:
                x, y = map(int, item.center)
                assert far_from(COLORS[item.color], picture)[y, x] <= 8


def pairs_of(folder, split):
    scenes = described(folder)
    return [
        {(item["color"], item["shape"]) for item in scenes[name]["objects"]}
        for name in names_of(folder, split)
    ]


def test_held_out_pairs_are_in_every_novel_scene_and_nowhere_else(folder):
    held_out = set(HELD_OUT_PAIRS)
    for split in ("train", "dev", "test"):
        assert not held_out & set().union(*pairs_of(folder, split))
    assert all(held_out & pairs for pairs in pairs_of(folder, "novel_pairs"))
    shown = set().union(*pairs_of(folder, "train"))
    assert {color for color, _ in shown} == set(COLORS)
    assert {shape for _, shape in shown} == set(SHAPES)


def test_no_scene_is_written_twice(folder):
    scenes = [json.dumps(scene["objects"]) for scene in described(folder).values()]
    assert len(set(scenes)) == len(scenes)


def files_of(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_seed_gives_the_same_bytes_and_another_seed_others(folder, tmp_path):
    assert files_of(write(tmp_path / "again")) == files_of(folder)
    other = files_of(write(tmp_path / "other", seed=7))
    assert other.keys() == files_of(folder).keys()
    assert other != files_of(folder)


def test_other_pairs_can_be_held_out(tmp_path):
    pairs = [("black", "star")]
    folder = write(tmp_path / "data", held_out_pairs=pairs)
    assert all(pairs[0] in own for own in pairs_of(folder, "novel_pairs"))
    assert not any(pairs[0] in own for own in pairs_of(folder, "train"))


def test_a_folder_with_files_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(ValueError, match=r"Expected a new or empty folder\. Received: "):
        write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]

"""A trained classifier of drawn scenes: what changes its answer is the object."""

import keras
import numpy as np
import pytest

import keras_attn
from keras_attn.evaluation.pointing import points_at
from keras_attn.images.picture_format import PictureFormat
from keras_attn.models import ImageClassifier, SmallConvEncoder
from keras_attn.serving import LabelService, classifier_functions, export_service
from keras_attn.serving.readers import PictureReader
from keras_attn.serving.writers import LabelWriter
from keras_attn.text.label_table import LabelTable
from keras_attn_pipelines.demo.scenes import COLORS, IMAGE_SIZE, draw, sample_scene

pytestmark = pytest.mark.systems
SIDE = (IMAGE_SIZE, IMAGE_SIZE)


def scenes(count, seed):
    """Scenes of a single large object: the object, and the picture."""
    random, made = np.random.default_rng(seed), []
    while len(made) < count:
        scene = sample_scene(random)
        if len(scene.objects) == 1 and scene.objects[0].size == "large":
            made.append((scene.objects[0], np.asarray(draw(scene, random))))
    return made


@pytest.mark.slow
def test_the_object_is_what_changes_its_color(tmp_path):
    keras.utils.set_random_seed(3)
    names, made = sorted(COLORS), scenes(600, 3)
    pictures = np.stack([picture for _, picture in made])
    labels = np.array([names.index(item.color) for item, _ in made])
    model = ImageClassifier(SmallConvEncoder((16, 24), (2, 4)), len(names))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.008), loss, metrics=["accuracy"])
    history = model.fit(pictures, labels, 30, epochs=24, verbose=0).history
    assert history["accuracy"][-1] > 0.95
    table = LabelTable(names)
    reader, writer = PictureReader(PictureFormat(*SIDE)), LabelWriter(table)
    ways = classifier_functions.picture_functions(model)
    service = LabelService(model, reader, writer, ways, {"labels": table})
    saved = keras_attn.load(export_service(service, tmp_path / "colors", "card"))
    seen = [(saved.explain(picture, by="occlusion"), item) for item, picture in scenes(20, 5)]
    right = [(drawing, item) for drawing, item in seen if drawing.text == item.color]
    assert len(right) >= 18
    pointed = [
        points_at(drawing.data.weights[0, 0], (0, 1), item.box, SIDE) for drawing, item in right
    ]
    assert np.mean(pointed) >= 0.9

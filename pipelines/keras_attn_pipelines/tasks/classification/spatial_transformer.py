"""A CNN behind spatial transformers."""

import math
from collections.abc import Callable
from typing import ClassVar

from keras_attn.contracts import IMAGE, LOGITS
from keras_attn_pipelines.data.vocabulary import LABELS
from keras_attn_pipelines.experiment.fields import choice, option, part
from keras_attn_pipelines.experiment.parts import Built
from keras_attn_pipelines.experiment.picture_encoders import ENCODER, ENCODERS, Encoder

NONE = "none"
FIXED_ANGLE = ("translation", "attention")
TRANSFORMS = (*FIXED_ANGLE, "similarity", "affine", "projective", "thin_plate_spline")
SMALL, LITE0 = "small", "efficientnet_lite0"
OWN = "backbone"
"""Name of the choice of no other encoder than the backbone."""
TRANSFORMED = {"transforms": TRANSFORMS}
FEATURES, PLACES = "features", "places"
APART, MOST_PARALLEL = 40, 9
"""Degrees between the angles at which parallel transformers start, and how many fill a circle."""
LOOK = 32
"""Approximate side of a localization network's input, in pixels."""
COARSE, MOST_STAGES = 4, 6
"""Grid at which the CNN trained from scratch stops pooling, and its most stages."""
DIGIT = 28
"""Side of an undistorted digit, in pixels."""
LEAST_READ, MOST_READ = 24, 256
"""Largest side of the digit CNN's input, in pixels."""


@part
class SpatialTransforms:
    """Spatial transformers in series, the first of them possibly several in parallel."""

    transforms: tuple[str, ...] = option(
        "spatial transformations applied in series; or none",
        default=("affine",),
        settled=True,
        choices=(*TRANSFORMS, NONE),
    )
    read_size: int = option(
        "height and width of a transformer's output, in pixels",
        default=28,
        settled=True,
        needs=TRANSFORMED,
        least=2,
        most=4096,
    )
    bound: float | None = option(
        "largest deviation of each transformation parameter from its initial value",
        default=None,
        settled=True,
        needs=TRANSFORMED,
        least=1e-6,
        most=1e6,
    )
    parallel: int = option(
        f"spatial transformers that read the picture side by side, {APART} degrees apart at the "
        f"start; 1 where the first transform is {' or '.join(FIXED_ANGLE)}",
        default=1,
        settled=True,
        needs={"transforms": tuple(name for name in TRANSFORMS if name not in FIXED_ANGLE)},
        least=1,
        most=MOST_PARALLEL,
    )

    def check(self):
        """Raises ValueError for "none" together with other transforms."""
        if NONE in self.transforms and len(self.transforms) > 1:
            raise ValueError(
                f"Expected transforms without none, or none alone. "
                f"Received: transforms={' '.join(self.transforms)}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the transforms in series; empty for "none"."""
        return () if self.transforms == (NONE,) else self.transforms

    @property
    def angles(self) -> tuple[float, ...]:
        """Degrees at which the first transformers start, side by side."""
        if self.transforms[0] in (NONE, *FIXED_ANGLE):
            return (0.0,)
        middle = (self.parallel - 1) / 2
        return tuple(APART * (number - middle) for number in range(self.parallel))


@part
class OwnNetwork:
    """No encoder, but the CNN of --backbone."""

    def build(self, image_size):
        """See `Encoder`: none."""


@part
class SpatialTransformer:
    """Spatial transformers before a CNN, for pictures of any kind."""

    reads: ClassVar[tuple[str, ...]] = (IMAGE,)
    answers: ClassVar[tuple[str, ...]] = (LOGITS,)

    spatial: SpatialTransforms = SpatialTransforms(read_size=64, bound=0.15, parallel=3)
    filters: int = option("filters in the first convolution", default=32, settled=True, least=1)
    backbone: str = option(
        f"CNN: {SMALL}, trained from scratch, or {LITE0}, pretrained on ImageNet",
        default=SMALL,
        settled=True,
        choices=(SMALL, LITE0),
    )
    encoder: Encoder = choice(
        f"{ENCODER} whose vector of each crop is classified",
        default=OwnNetwork(),
        kinds={OWN: OwnNetwork, **ENCODERS},
        settled=True,
    )
    fine_tune: bool = option(
        f"train the weights of {LITE0}, or of the encoder, too",
        default=False,
        needs={"backbone": LITE0, "encoder": tuple(ENCODERS)},
    )
    dropout: float = option("dropout probability", default=0.3, least=0, below=1)

    def check(self):
        """Raises ValueError for a backbone beside another encoder, or one that never learns."""
        if self._is_random and not self.fine_tune:
            raise ValueError(
                "Expected a pretrained encoder, or fine_tune with one from scratch. "
                f"Received: {type(self.encoder).__name__} from scratch"
            )
        if self.backbone != SMALL and not isinstance(self.encoder, OwnNetwork):
            raise ValueError(
                f"Expected no backbone={self.backbone} with another encoder. "
                f"Received: {type(self.encoder).__name__}"
            )

    def check_features(self, features):
        """See `Model`: a picture needs at least 2 × 2 pixels."""
        if features[IMAGE].shape[0] < 2:
            raise ValueError(
                f"Expected image_size >= 2. Received: image_size={features['image'].shape[0]}"
            )

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`."""
        return _built(self, features, vocabulary_sizes, seed, grayscale=False)

    @property
    def slow_network(self) -> bool:
        """Whether the network behind the transformers was trained before, and is so again."""
        is_other = not isinstance(self.encoder, OwnNetwork)
        return self.fine_tune and is_other and not self._is_random

    @property
    def _is_random(self):
        return getattr(self.encoder, "from_scratch", False)

    def network(self, size):
        """What is behind the transformers, for crops of `size` × `size` pixels in 0..1."""
        import keras

        from keras_attn.models.image_encoders.efficientnet_lite0_encoder import (
            EfficientNetLite0Encoder,
        )
        from keras_attn.models.image_encoders.encoder_vector import EncoderVector

        if (encoder := self.encoder.build(size)) is not None:
            encoder.trainable = self.fine_tune
            return EncoderVector(encoder, name="encoder")
        if self.backbone == LITE0:
            backbone = EfficientNetLite0Encoder()
            backbone.trainable = self.fine_tune
            pool = keras.layers.GlobalAveragePooling2D()
            return keras.Sequential([keras.layers.Rescaling(255.0), backbone, pool], name="encoder")
        layers, width = [], self.filters
        for _ in range(MOST_STAGES):
            layers += [keras.layers.Conv2D(width, 3, padding="same", activation="relu")]
            layers += [keras.layers.MaxPooling2D(2, padding="same")]
            size, width = -(-size // 2), min(2 * width, 4 * self.filters)
            if size <= COARSE:
                break
        # The largest value of each feature anywhere: where it is must not be learned.
        layers[-1] = keras.layers.GlobalMaxPooling2D()
        dense = keras.layers.Dense(4 * self.filters, activation="relu")
        return keras.Sequential([*layers, dense], name="encoder")

    def localization(self, size):
        """A transformer's localization network for pictures of `size` × `size` pixels."""
        import keras

        from keras_attn.layers.spatial_softmax import SpatialSoftmax

        coarser = max(size // LOOK, 1)
        return keras.Sequential(
            [
                keras.layers.AveragePooling2D(coarser, padding="same"),
                keras.layers.Conv2D(16, 5, padding="same", activation="relu"),
                keras.layers.Conv2D(32, 5, padding="same", activation="relu"),
                keras.layers.Conv2D(16, 5, padding="same"),
                SpatialSoftmax(),
            ]
        )

    def serve(self, model, labels, picture_format, n_best):
        """See `ClassifierModel`."""
        return _served(model, labels, picture_format, n_best)


@part
class DigitSpatialTransformer:
    """The digit networks of the paper: a spatial transformer before a small CNN."""

    reads: ClassVar[tuple[str, ...]] = (IMAGE,)
    answers: ClassVar[tuple[str, ...]] = (LOGITS,)

    spatial: SpatialTransforms = SpatialTransforms(transforms=("thin_plate_spline",))
    filters: int = option("filters in the first convolution", default=32, settled=True, least=1)
    chooses_by: str = option(
        f"input of the localization network; {PLACES} of features suit clutter",
        default=FEATURES,
        settled=True,
        needs=TRANSFORMED,
        choices=(FEATURES, PLACES),
    )
    dropout: float = option("dropout probability", default=0.0, least=0, below=1)

    def check(self):
        """Raises ValueError for a size that the CNN cannot take."""
        count, size = len(self.spatial.transforms), self.spatial.read_size
        least = LEAST_READ if count == 1 else DIGIT
        if not least <= size <= MOST_READ:
            raise ValueError(
                f"Expected read_size between {least} and {MOST_READ} with {count} in transforms. "
                f"Received: read_size={size}"
            )

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`."""
        return _built(self, features, vocabulary_sizes, seed, grayscale=True)

    slow_network: ClassVar[bool] = False

    def network(self, size):
        """The CNN behind the transformers."""
        import keras

        from keras_attn.models.spatial_transformer.gray_convolution import Conv2D

        return keras.Sequential(
            [
                Conv2D(self.filters, 9, activation="relu"),
                keras.layers.MaxPooling2D(2),
                keras.layers.Conv2D(self.filters, 7, activation="relu"),
                keras.layers.MaxPooling2D(2),
            ],
            name="encoder",
        )

    def localization(self, size):
        """A transformer's localization network for pictures of `size` × `size` pixels."""
        import keras

        from keras_attn.layers.spatial_softmax import SpatialSoftmax

        if self.chooses_by == PLACES:
            return keras.Sequential(
                [
                    keras.layers.AveragePooling2D(2),
                    keras.layers.Conv2D(20, 5, activation="relu"),
                    keras.layers.MaxPooling2D(2),
                    keras.layers.Conv2D(20, 5),
                    SpatialSoftmax(),
                ]
            )
        return keras.Sequential(
            [
                keras.layers.MaxPooling2D(2),
                keras.layers.Conv2D(20, 5, activation="relu"),
                keras.layers.MaxPooling2D(2),
                keras.layers.Conv2D(20, 5 if size <= DIGIT else 3, activation="relu"),
                *([keras.layers.MaxPooling2D(2)] if size > DIGIT else []),
                keras.layers.Flatten(),
                keras.layers.Dense(20, activation="relu"),
            ]
        )

    def serve(self, model, labels, picture_format, n_best):
        """See `ClassifierModel`."""
        return _served(model, labels, picture_format, n_best)


def _built(part, features, vocabulary_sizes, seed, grayscale):
    """A built `SpatialTransformerClassifier` with a part's networks."""
    import keras

    from keras_attn.layers.spatial_transformer import SpatialTransformer
    from keras_attn.models.spatial_transformer.spatial_transformer_classifier import (
        SpatialTransformerClassifier,
    )

    keras.utils.set_random_seed(seed)
    height, width, _ = features[IMAGE].shape
    size, transformers, read = height, [], part.spatial.read_size
    names, angles = part.spatial.names, part.spatial.angles
    for stage, name in enumerate(names, 1):
        transform = _transform(name)()
        for angle in angles if stage == 1 else (0.0,):
            transformers.append(
                SpatialTransformer(
                    part.localization(size),
                    transform,
                    (read, read),
                    bound=part.spatial.bound,
                    return_grid=True,
                    data_format="channels_last",
                    initial_theta=transform.rotation(math.radians(angle)) if angle else None,
                    name=f"transformer_{len(transformers) + 1}",
                )
            )
        size = read
    model = SpatialTransformerClassifier(
        transformers,
        part.network(size),
        vocabulary_sizes[LABELS],
        part.dropout,
        grayscale,
        len(angles),
        name="classifier",
    )
    model.build((None, height, width, 3))
    several = f"{len(angles)} parallel " if len(angles) > 1 else ""
    behind = f" behind spatial transformers ({several}{', '.join(names)})" if transformers else ""
    slow = [*transformers, *([model.encoder] if part.slow_network else [])]
    return Built(model, f"{_name(model.encoder)}{behind}", [layer.name for layer in slow])


def _name(network) -> str:
    """What a network is, in words."""
    encoder = getattr(network, "encoder", None)
    return "a CNN" if encoder is None else f"a picture encoder ({type(encoder).__name__})"


def _transform(name) -> Callable:
    """The class of a transform by its name."""
    from keras_attn.layers import transforms

    classes = (
        transforms.Translation,
        transforms.AttentionWindow,
        transforms.Similarity,
        transforms.Affine,
        transforms.Projective,
        transforms.ThinPlateSpline,
    )
    return dict(zip(TRANSFORMS, classes))[name]


def _served(model, labels, picture_format, n_best):
    from keras_attn.serving import LabelService, classifier_functions, readers, views, writers

    return LabelService(
        model,
        readers.PictureReader(picture_format),
        writers.LabelWriter(labels, n_best),
        classifier_functions.crop_functions(model),
        {LABELS: labels},
        views.CROP_VIEWS if model.transformers else (),
    )

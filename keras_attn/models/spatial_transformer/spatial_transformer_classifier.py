"""Image classifiers with spatial transformers."""

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.spatial_transformer import SpatialTransformer, Transformed
from keras_attn.models.base_model import PictureClassifier
from keras_attn.ops.allow_empty_batch import allow_empty_batch
from keras_attn.ops.sample import sample

LUMINANCE = (0.299, 0.587, 0.114)
LARGEST = "largest features"
"""What a config says of how parallel views are joined: those before mixed predictions."""
SETTINGS = {"data_format": "channels_last", "return_grid": True, "align_corners": False}


@keras.saving.register_keras_serializable(package="keras_attn")
class SpatialTransformerClassifier(PictureClassifier):
    """Spatial transformers in series or in parallel, then a CNN.

    In series, each samples the output of the one before it. With `num_parallel` = K, the first K
    transformers sample the picture side by side, and the others and the CNN read each of the K
    views. Of each of the CNN's features, the largest value in any view counts:

        logits = V h + c,  h = max_k h_k,  h_k the CNN's features of view k

    Transformers with different `initial_theta`, such as rotations, are hypotheses about where the
    object is and how it is turned: the CNN need not know it at every angle.

    Args:
        transformers: sequence of `SpatialTransformer` of channels-last pictures, with
            `return_grid=True` and `align_corners=False`; none for the CNN alone.
        encoder: Keras layer or model, from the output of the last transformer to features (B, …),
            which are flattened.
        num_classes: int > 0.
        dropout: float, 0 to 1, of the features.
        grayscale: bool. Whether the transformers and the encoder get luminance, C = 1, instead of
            RGB.
        num_parallel: int ≥ 1. K; above 1, the first K transformers must have the same transform
            and output size, and should start differently.

    Call arguments:
        images: uint8 or float (B, height, width, 3), RGB pixels in 0..255; rescaled to 0..1.
        training: bool.

    Returns:
        logits: float32 (B, num_classes).

    Raises:
        ValueError: not a `SpatialTransformer` with these settings; num_classes or num_parallel < 1;
            transformers that are missing or not alike, with several in parallel.

    Example:
        >>> from keras_attn.layers import Affine, SpatialTransformer
        >>> def look():
        ...     return keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(5, "relu")])
        >>> first = SpatialTransformer(look(), Affine(), (5, 7), return_grid=True)
        >>> second = SpatialTransformer(look(), Affine(), (3, 5), return_grid=True)
        >>> encoder = keras.layers.Conv2D(2, 3)
        >>> model = SpatialTransformerClassifier([first, second], encoder, num_classes=3)
        >>> logits, read = model.transformed(ops.zeros((2, 13, 11, 3)))
        >>> tuple(logits.shape), [tuple(value.images.shape) for value in read]
        ((2, 3), [(2, 5, 7, 3), (2, 3, 5, 3)])

    Source: Jaderberg et al. 2015, arXiv:1506.02025, 3.4, 4.1; the maximum over views, Laptev et al.
    2016, arXiv:1604.06318. Differs: Laptev's views are fixed, and Jaderberg's parallel transformers
    (4.3) have CNNs of their own, whose features are concatenated.
    """

    def __init__(
        self,
        transformers,
        encoder,
        num_classes,
        dropout=0.0,
        grayscale=False,
        num_parallel=1,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(num_classes=num_classes, num_parallel=num_parallel)
        transformers = list(transformers)
        for transformer in transformers:
            if not isinstance(transformer, SpatialTransformer) or any(
                getattr(transformer, name) != value for name, value in SETTINGS.items()
            ):
                raise ValueError(
                    f"Expected SpatialTransformers with {SETTINGS}. Received: {transformer!r}"
                )
        if num_parallel > 1:
            _check_parallel(transformers[:num_parallel], num_parallel)
        self.transformers, self.encoder = transformers, encoder
        self.num_parallel = num_parallel
        self.num_classes, self.dropout, self.grayscale = num_classes, dropout, bool(grayscale)
        self.flatten = keras.layers.Flatten(name="flatten")
        self.drop = keras.layers.Dropout(dropout, name="drop")
        self.head = keras.layers.Dense(num_classes, name="head", dtype="float32")

    def build(self, images_shape):
        shape = (*images_shape[:3], 1 if self.grayscale else images_shape[3])
        for number, transformer in enumerate(self.transformers, 1):
            if not transformer.built:
                transformer.build(shape)
            if number >= self.num_parallel:
                shape = transformer.compute_output_shape(shape).images
        if not self.encoder.built:
            self.encoder.build(shape)
        features = self.flatten.compute_output_shape(self.encoder.compute_output_shape(shape))
        self.head.build(features)

    def float32_layers(self):
        """Layers that compute in float32 in any precision: those of logits and coordinates."""
        places = [part for layer in self.transformers for part in (layer.flatten, layer.head)]
        return [self.head, *places]

    def call(self, images, training=None):
        return self.transformed(images, training=training)[0]

    def transformed(self, images, training=None):
        """Logits, and the outputs of each transformer.

        Args:
            images: as in the call.
            training: bool.

        Returns:
            logits: float32 (B, num_classes).
            read: list of `Transformed`, one for each transformer in series; of parallel ones, those
                of the view whose features are the largest in sum, and so closest to their maximum.
        """
        return self.transformed_view(images, training)[:2]

    def transformed_view(self, images, training=None):
        """Logits, the outputs of each transformer, and which parallel view these are of.

        Returns:
            logits, read: see `transformed`.
            view: int32 (B,), from 0.
        """
        return allow_empty_batch(lambda images: self._transformed(images, training), images)

    def _transformed(self, images, training):
        pixels = ops.cast(images, "float32") / 255.0
        if self.grayscale:
            pixels = ops.sum(pixels * ops.convert_to_tensor(LUMINANCE), axis=-1, keepdims=True)
        pixels = ops.cast(pixels, self.compute_dtype)
        count = self.num_parallel
        views = [
            transformer(pixels, training=training) for transformer in self.transformers[:count]
        ]
        read = [_joined(views)] if views else []
        for transformer in self.transformers[count:]:
            read.append(transformer(read[-1].images, training=training))
        features = self.encoder(read[-1].images if read else pixels, training=training)
        features = self.flatten(features)
        view = ops.zeros_like(features[:, 0], dtype="int32")
        if self.num_parallel > 1:
            views = ops.reshape(features, (-1, self.num_parallel, features.shape[-1]))
            features = ops.max(views, axis=1)
            sums = ops.sum(ops.cast(views, "float32"), axis=-1)
            view = ops.cast(ops.argmax(sums, axis=-1), "int32")
            read = [self._of_view(value, view) for value in read]
        return self.head(self.drop(features, training=training)), read, view

    def _of_view(self, read, view):
        """Of `Transformed` of all views (B · K, …), those of one view (B,) each: (B, …)."""
        values = []
        for value in read:
            shape = tuple(value.shape[1:])
            views = ops.reshape(value, (-1, self.num_parallel, *shape))
            picked = ops.reshape(view, (-1, 1, *(1 for _ in shape)))
            values.append(ops.squeeze(ops.take_along_axis(views, picked, axis=1), axis=1))
        return Transformed(*values)

    def get_config(self):
        return {**super().get_config(), "views": LARGEST}

    @classmethod
    def from_config(cls, config):
        """The inverse of `get_config`.

        Raises:
            ValueError: parallel transformers whose predictions were mixed, of earlier versions.
        """
        config = dict(config)
        if config.pop("views", None) != LARGEST and config.get("num_parallel", 1) > 1:
            raise ValueError(
                "Expected parallel transformers whose largest features count. Received: a model "
                "made when their predictions were mixed, which has to be trained again"
            )
        return super().from_config(config)


def _check_parallel(first, num_parallel):
    """Raises ValueError for what cannot be read side by side."""
    kinds = {(layer.transform, layer.output_size) for layer in first}
    if len(first) < num_parallel or len(kinds) > 1:
        raise ValueError(
            f"Expected the first {num_parallel} transformers to have the same transform and output "
            f"size. Received: {len(first)} transformers, {len(kinds)} different kinds"
        )


def _joined(views):
    """`Transformed` (B · K, …) of all of K views (B, …), those of a picture next to each other."""
    if len(views) == 1:
        return views[0]
    return Transformed(
        *(
            ops.reshape(ops.stack(values, axis=1), (-1, *values[0].shape[1:]))
            for values in zip(*views, strict=True)
        )
    )


def composed_grid(read):
    """The sampling grid of the last of several transformers, in coordinates of the picture.

    Args:
        read: sequence of `Transformed`, one at least, each of what the one before it read, with
            `align_corners=False`.

    Returns:
        float32 (B, height, width, 2): between the points of an earlier grid, and outside it as at
        its edge, places are interpolated.
    """
    grid = read[-1].grid
    for step in reversed(read[:-1]):
        grid = sample(step.grid, grid, padding="border")
    return grid

"""One vector per picture of any picture encoder."""

from keras import ops

from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer


def picture_vector(encoder, images, training=None):
    """The vector of a `VisionTransformer`, or the mean of another encoder's grid.

    Args:
        encoder: layer from images to a grid (B, grid height, grid width, D).
        images: uint8 or float (B, height, width, 3), RGB pixels in 0..255.
        training: bool.

    Returns:
        (B, D): compute dtype of a `VisionTransformer`, else float32.
    """
    if isinstance(encoder, VisionTransformer):
        return encoder.pool(images, training=training)[0]
    grid = encoder(images, training=training)
    return ops.mean(ops.cast(grid, "float32"), axis=(1, 2))


def picture_width(encoder, images_shape):
    """Width D of `picture_vector`."""
    if isinstance(encoder, VisionTransformer):
        return encoder.config.pooled_dim
    return encoder.compute_output_shape(images_shape)[-1]

"""One vector per picture of any picture encoder."""

from keras import ops

from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer


def picture_vector(encoder, images, training=None):
    """The vector of a `VisionTransformer`, or the mean of another encoder's outputs.

    Args:
        encoder: layer from images to a grid (B, grid height, grid width, D), or to a sequence (B,
            S, D) as of a `VisionSequence`.
        images: uint8 or float (B, height, width, 3), RGB pixels in 0..255.
        training: bool.

    Returns:
        (B, D): compute dtype of a `VisionTransformer`, else float32.
    """
    if isinstance(encoder, VisionTransformer):
        return encoder.pool(images, training, return_attention_scores=False)[0]
    outputs = encoder(images, training=training)
    places = tuple(range(1, len(outputs.shape) - 1))
    return ops.mean(ops.cast(outputs, "float32"), axis=places)


def picture_width(encoder, images_shape):
    """Width D of `picture_vector`."""
    if isinstance(encoder, VisionTransformer):
        return encoder.config.pooled_dim
    return encoder.compute_output_shape(images_shape)[-1]

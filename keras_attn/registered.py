"""Makes every layer, model, loss and optimizer known to Keras, so that saved ones can be loaded."""

from keras_attn import decoding, evaluation, layers, models, ops, training
from keras_attn.models.spatial_transformer import gray_convolution

__all__ = ["decoding", "evaluation", "gray_convolution", "layers", "models", "ops", "training"]

"""Makes every layer, model, loss and optimizer known to Keras, so that saved ones can be loaded."""

from keras_attn import decoding, evaluation, layers, models, ops, training

__all__ = ["decoding", "evaluation", "layers", "models", "ops", "training"]

"""Functions of classifiers for the signatures of a `LabelService`."""

from keras_attn.contracts import (
    CONTRIBUTIONS,
    CROP,
    DROPPED,
    ENCODER_WEIGHTS,
    GRID,
    IMAGE,
    PICTURE,
    SOURCE,
    STORY,
    VIEW,
    WEIGHTS,
)
from keras_attn.lazy_tensorflow import tf
from keras_attn.models.spatial_transformer.spatial_transformer_classifier import composed_grid
from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer
from keras_attn.ops.rollout import attention_rollout

__all__ = ["crop_functions", "picture_functions", "question_functions", "text_functions"]


def picture_functions(model):
    """Of an `ImageClassifier`: its labels.

    With a `VisionTransformer`, also the attention rollout over its patches, and every weight.
    """

    def answer(features):
        return model(features[IMAGE], training=False), {}

    def attention(features):
        pictures = features[IMAGE]
        vector, weights, scores = model.encoder.pool(pictures, False, return_pooling_scores=True)
        logits = model.head(vector)
        shares = _shares(model, attention_rollout(weights), scores, pictures)
        return logits, {WEIGHTS: shares, ENCODER_WEIGHTS: tf.stack(weights, axis=1)}

    def explain(features):
        logits, outputs = attention(features)
        return logits, {WEIGHTS: outputs[WEIGHTS]}

    if not isinstance(model.encoder, VisionTransformer):
        return {"serving_default": answer}
    return {"serving_default": answer, "explain": explain, "attention": attention}


def crop_functions(model):
    """Of a `SpatialTransformerClassifier`: its last crop, where that was read, and by which view.

    Without transformers, labels only.
    """

    def explain(features):
        pictures = features[IMAGE]
        logits, read, view = model.transformed_view(pictures, training=False)
        if not read:
            return logits, {}
        bright = tf.round(255.0 * tf.cast(read[-1].images, tf.float32))
        crops = tf.cast(tf.clip_by_value(bright, 0, 255), tf.uint8)
        crops = tf.repeat(crops, 3 // crops.shape[-1], axis=-1)
        views = tf.stack([view + 1, tf.fill(tf.shape(view), model.num_parallel)], axis=1)
        grid = composed_grid(read)
        return logits, {CROP: crops, GRID: grid, PICTURE: pictures, VIEW: views}

    def answer(features):
        logits, outputs = explain(features)
        return logits, {key: value for key, value in outputs.items() if key == CROP}

    functions = {"serving_default": answer}
    return {**functions, "explain": explain} if model.transformers else functions


def text_functions(model):
    """Of a `TextClassifier`: what each piece adds to the label's logit, and how much of it is in
    the pooled vector."""

    def answer(features):
        return model.pooled_weights(features[SOURCE])[0], {}

    def explain(features):
        logits, weights, contributions = model.contributions(features[SOURCE])
        return logits, {WEIGHTS: weights, CONTRIBUTIONS: contributions}

    return {"serving_default": answer, "explain": explain}


def question_functions(model):
    """Of a `QuestionAnswerer` or a `StoryReader`: which sentences each hop or head read, and
    how many were not read."""

    def explain(features):
        logits, weights = model.hops(features)
        return logits, {WEIGHTS: weights, DROPPED: model.dropped(features[STORY])}

    def answer(features):
        logits, outputs = explain(features)
        return logits, {DROPPED: outputs[DROPPED]}

    return {"serving_default": answer, "explain": explain}


def _shares(model, rollout, scores, pictures):
    """Rollout (B, S, S) to each patch's share in the picture's vector, (B, height, width).

    Args:
        model: `ImageClassifier`.
        rollout: float (B, S, S).
        scores: float (B, H, S), of the pooling's query, or None.
        pictures: uint8 (B, height, width, 3).
    """
    _, height, width, _ = model.encoder.compute_output_shape((None, *pictures.shape[1:]))
    if scores is not None:
        seen = tf.einsum("bs,bst->bt", tf.reduce_mean(scores, axis=1), rollout)
    elif rollout.shape[-1] > height * width:
        seen = rollout[:, 0, -height * width :]
    else:
        seen = tf.reduce_mean(rollout, axis=1)
    return tf.reshape(seen, (-1, height, width))

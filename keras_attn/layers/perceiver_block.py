"""One layer of the Perceiver resampler."""

from keras import ops

from keras_attn.layers.attention_layer import call_scored
from keras_attn.layers.residual import make_normalization
from keras_attn.layers.transformer_block import TransformerBlock


class PerceiverBlock(TransformerBlock):
    """Latents that attend to inputs and to each other, then a feed-forward net.

    Args:
        As in `TransformerEncoderBlock`; it must normalize first.

    Call arguments:
        latents: float (B, N, D).
        inputs: float (B, S, D), finite also where masked.
        inputs_mask: bool (B, S); True = attend. None is all.
        return_attention_scores: bool.

    Returns:
        latents: (B, N, D), compute dtype.
        weights: with return_attention_scores, float32 (B, H, N, S + N), the inputs' first.
    """

    attentions = ("attention",)

    def __init__(self, num_heads, key_dim, **kwargs):
        super().__init__(num_heads, key_dim, **kwargs)
        self.inputs_normalization = make_normalization(
            self.normalization, self.epsilon, name="inputs_normalization", dtype=self.dtype_policy
        )

    def build(self, latents_shape):
        parts = self.inputs_normalization, self.attention, self.feed_forward, *self.residuals
        for layer in parts:
            layer.build(latents_shape)

    def call(self, latents, inputs, inputs_mask=None, return_attention_scores=False, training=None):
        inputs, weights = self.inputs_normalization(inputs), []
        mask = None
        if inputs_mask is not None:
            of_latents = ops.ones(ops.shape(latents)[:2], "bool")
            mask = ops.concatenate([inputs_mask, of_latents], axis=1)

        def attend(latents):
            attended, *scores = call_scored(
                self.attention,
                latents,
                ops.concatenate([inputs, latents], axis=1),
                value_mask=mask,
                return_attention_scores=return_attention_scores,
                training=training,
            )
            weights.extend(scores)
            return attended

        def feed(latents):
            return self.feed_forward(latents, training=training)

        latents = self.run_sublayers(latents, (attend, feed), training)
        return (latents, *weights) if return_attention_scores else latents

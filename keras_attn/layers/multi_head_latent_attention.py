"""Multi-head latent attention."""

from typing import Any, ClassVar, NamedTuple

import keras
from keras import ops

from keras_attn.checks import check_probability, check_sizes
from keras_attn.layers.attention_layer import call_masks
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask
from keras_attn.layers.multi_head import weight_dropout
from keras_attn.layers.projections import Projections
from keras_attn.layers.residual import RMS, make_normalization
from keras_attn.layers.rotary_positions import RotaryPositions
from keras_attn.ops.attend import attend
from keras_attn.ops.cached_attention import write_slots
from keras_attn.ops.latent_attention import attend_latents, latent_score
from keras_attn.ops.linear import linear, merge_heads, split_heads


class LatentKernels(NamedTuple):
    """The projections of a `MultiHeadLatentAttention`, cast and concatenated.

    Attributes:
        query_latent: compute dtype (D, d_q), or None.
        query: compute dtype (D, H·(d_k + d_r)), or (d_q, …); what is turned comes last.
        latent: compute dtype (D, d_c + d_r).
        key_value: compute dtype (d_c, H·(d_k + d_v)).
        absorbed_key: compute dtype (H, d_k, d_c).
        absorbed_value: compute dtype (H, d_c, d_v).
        output: compute dtype (H·d_v, D).
    """

    query_latent: Any
    query: Any
    latent: Any
    key_value: Any
    absorbed_key: Any
    absorbed_value: Any
    output: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class MultiHeadLatentAttention(Projections, MaskedLayer):
    """Multi-head self-attention whose keys and values come from one narrow vector for each step.

        c = RMS(W^DKV x),  k_h = [W_h^UK c; k^R],  v_h = W_h^UV c,  k^R = R(W^KR x)
        q_h = [W_h^UQ y; R(W_h^QR y)],  y = x or RMS(W^DQ x)
        outputs = [head_1; …; head_H] W^O,  head_h = softmax(q_h k_hᵀ / √(d_k + d_r)) v_h

    R turns by the position. A cache for decoding holds c and k^R only: see `extend`, which never
    computes keys or values.

    Args:
        num_heads: int > 0. H.
        key_dim: int > 0. d_k, width of the part of a head's queries and keys that is not turned.
        key_value_latent_dim: int > 0. d_c, width of c.
        rotary_dim: int > 0, even. d_r, width of the turned part; its key is shared by all heads.
        value_dim: int > 0 or None. d_v; None is key_dim.
        query_latent_dim: int > 0 or None. d_q, width of a narrow vector for the queries, too; None
            is none.
        dropout: probability. On the attention weights.
        positions: `RotaryPositions`, or None for those with its defaults.
        epsilon: float > 0. Of the RMS normalizations.
        kernel_initializer: Keras initializer of each projection's matrix, such as (d_c, H·d_k).
        seed: int or None. Of the dropout.

    Call arguments:
        inputs: float (B, T, D).
        mask: bool (B, T); True = attend. Filled in by Keras.
        attention_mask: bool, broadcastable to (B, T, T) or, with four axes, to (B, H, T, T). All
            masks must allow a position.
        return_attention_scores: bool.
        use_causal_mask: bool. Position t sees positions 0 to t only.

    Returns:
        outputs: (B, T, D), compute dtype, with the inputs' mask; 0 where fully masked.
        weights: with return_attention_scores, float32 (B, H, T, T) before dropout; rows sum to 1,
            or are all 0 where fully masked.

    Raises:
        ValueError: a width < 1; an odd rotary_dim; positions that are not `RotaryPositions` or are
            wider than rotary_dim; dropout outside [0, 1); epsilon ≤ 0; a list of tensors; a mask of
            floats or of another shape.

    Example:
        >>> layer = MultiHeadLatentAttention(2, 3, key_value_latent_dim=5, rotary_dim=4)
        >>> tuple(layer(ops.ones((2, 11, 7)), use_causal_mask=True).shape)
        (2, 11, 7)
        >>> tuple(layer.empty_cache(2, 11).shape)
        (2, 1, 11, 9)

    Source: DeepSeek-AI 2024, arXiv:2405.04434, 2.1. Differs: c and the queries' narrow vector are
    RMS-normalized, as in the authors' program. Under YaRN, that program also multiplies all scores
    by a constant; here the caller multiplies the kernels of queries by it.
    """

    projections = (
        "query_latent_kernel",
        "query_kernel",
        "rotary_query_kernel",
        "latent_kernel",
        "rotary_key_kernel",
        "key_kernel",
        "value_kernel",
        "output_kernel",
    )
    contracted: ClassVar = {"output_kernel": 2}

    def __init__(
        self,
        num_heads,
        key_dim,
        key_value_latent_dim,
        rotary_dim,
        value_dim=None,
        query_latent_dim=None,
        dropout=0.0,
        positions=None,
        epsilon=1e-6,
        kernel_initializer="glorot_uniform",
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(num_heads=num_heads, key_dim=key_dim, rotary_dim=rotary_dim)
        check_sizes(key_value_latent_dim=key_value_latent_dim)
        for name, width in {"value_dim": value_dim, "query_latent_dim": query_latent_dim}.items():
            if width is not None:
                check_sizes(**{name: width})
        if rotary_dim % 2:
            raise ValueError(f"Expected an even rotary_dim. Received: rotary_dim={rotary_dim}")
        check_probability("dropout", dropout)
        self.num_heads, self.key_dim, self.value_dim = num_heads, key_dim, value_dim
        self.key_value_latent_dim, self.rotary_dim = key_value_latent_dim, rotary_dim
        self.query_latent_dim, self.epsilon = query_latent_dim, epsilon
        self.dropout, self.seed = dropout, seed
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        policy = self.dtype_policy
        self.positions = positions or RotaryPositions(name="positions", dtype=policy)
        if not isinstance(self.positions, RotaryPositions):
            raise ValueError(
                f"Expected positions to be RotaryPositions. Received: positions={positions!r}"
            )
        self.positions.check_heads(num_heads, rotary_dim)
        self.latent_norm = make_normalization(RMS, epsilon, name="latent_norm", dtype=policy)
        self.query_norm = None
        if query_latent_dim is not None:
            self.query_norm = make_normalization(RMS, epsilon, name="query_norm", dtype=policy)
        self.seed_generator = keras.random.SeedGenerator(seed) if dropout else None

    def build(self, inputs_shape):
        width, heads, latent = inputs_shape[-1], self.num_heads, self.key_value_latent_dim
        of_query, value_dim = self.query_latent_dim or width, self.value_dim or self.key_dim
        self.query_latent_kernel = None
        if self.query_norm is not None:
            self.query_latent_kernel = self._kernel((width, of_query), "query_latent_kernel")
            self.query_norm.build((None, of_query))
        self.query_kernel = self._kernel((of_query, heads, self.key_dim), "query_kernel")
        self.rotary_query_kernel = self._kernel(
            (of_query, heads, self.rotary_dim), "rotary_query_kernel"
        )
        self.latent_kernel = self._kernel((width, latent), "latent_kernel")
        self.rotary_key_kernel = self._kernel((width, self.rotary_dim), "rotary_key_kernel")
        self.key_kernel = self._kernel((latent, heads, self.key_dim), "key_kernel")
        self.value_kernel = self._kernel((latent, heads, value_dim), "value_kernel")
        self.output_kernel = self._kernel((heads, value_dim, width), "output_kernel")
        self.latent_norm.build((None, latent))
        if not self.positions.built:
            self.positions.build((None,))

    def _kernel(self, shape, name):
        return self.add_kernel(shape, name, self.kernel_initializer)

    def kernels(self):
        """`LatentKernels`, to be computed once before a decoding loop."""
        matrices = {name: self.matrix(name) for name in self.made_kernels()}
        key, value = matrices["key_kernel"], matrices["value_kernel"]
        split = self.key_value_latent_dim, self.num_heads, -1

        def joined(*names):
            return ops.concatenate([matrices[f"{name}_kernel"] for name in names], axis=1)

        kernels = LatentKernels(
            matrices.get("query_latent_kernel"),
            joined("query", "rotary_query"),
            joined("latent", "rotary_key"),
            ops.concatenate([key, value], axis=1),
            ops.transpose(ops.reshape(key, split), (1, 2, 0)),
            ops.transpose(ops.reshape(value, split), (1, 0, 2)),
            matrices["output_kernel"],
        )
        return kernels._replace(**self.factors)

    def call(
        self,
        inputs,
        mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
        use_causal_mask=False,
    ):
        given = {"attention_mask": attention_mask, "use_causal_mask": use_causal_mask}
        masks = call_masks(inputs, mask=mask, **given, heads=self.num_heads)
        queries, memory, _ = masks.apply(inputs)
        kernels, places = self.kernels(), ops.arange(ops.shape(inputs)[1])
        parts = self._project_queries(queries, kernels)
        query, rotary_query = (split_heads(part, self.num_heads) for part in parts)
        latents, rotary_keys = self._project_latents(memory, kernels, places)
        keys, values = self._split(linear(latents, kernels.key_value), self.key_dim)
        scores = latent_score(
            query,
            self.positions.rotate(rotary_query, places),
            split_heads(keys, self.num_heads),
            rotary_keys[:, None],
        )
        values, drop = split_heads(values, self.num_heads), weight_dropout(self, training)
        context, weights = attend(scores, values, masks.by_head(), drop)
        rows = linear(merge_heads(context), kernels.output)
        outputs = carry_mask(ops.reshape(rows, ops.shape(inputs)), masks.query)
        return (outputs, weights) if return_attention_scores else outputs

    def _project_queries(self, inputs, kernels):
        """(..., D) to queries (..., H·d_k) and what is to be turned of them (..., H·d_r)."""
        if kernels.query_latent is not None:
            inputs = self.query_norm(linear(inputs, kernels.query_latent))
        return self._split(linear(inputs, kernels.query), self.key_dim)

    def _project_latents(self, inputs, kernels, positions):
        """(..., D) to c, (..., d_c), and turned rotary keys (..., d_r)."""
        projected = linear(inputs, kernels.latent)
        latents, keys = ops.split(projected, [self.key_value_latent_dim], axis=-1)
        return self.latent_norm(latents), self.positions.rotate(keys, positions)

    def _split(self, projected, width):
        """(..., H·width + …) to its first H·width columns and the others."""
        return ops.split(projected, [self.num_heads * width], axis=-1)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def extend(self, inputs, cache, steps, kernels=None):
        """Self-attention of the next P steps, which join the cache; see `ops.cached_attention`.

        Queries meet c itself: W^UK is multiplied with the queries, W^UV with the context.

        Args:
            inputs: float (N·P, D).
            cache: float (N, 1, L, d_c + d_r), N = B·K: c and k^R of each step.
            steps: `NextSteps` for one head of keys and values, without a window.
            kernels: what `kernels()` returned, or None to compute them now.

        Returns:
            outputs: (N·P, D).
            cache: a new one.
        """
        kernels = kernels or self.kernels()
        parts = self._project_queries(inputs, kernels)
        query, rotary_query = (steps.by_example(part, self.num_heads) for part in parts)
        positions = ops.reshape(steps.positions, (-1,))
        new = ops.concatenate(self._project_latents(inputs, kernels, positions), axis=-1)
        cache, seen = write_slots(cache, new, steps)
        rotary_query = self.positions.rotate(rotary_query, steps.query_positions()[:, None])
        absorbed = kernels.absorbed_key, kernels.absorbed_value
        context = attend_latents(query, rotary_query, seen, steps, *absorbed)
        return linear(merge_heads(context), kernels.output), cache

    def empty_cache(self, rows, length):
        """Zeros (rows, 1, length, d_c + d_r), compute dtype, for `rows` hypotheses."""
        width = self.key_value_latent_dim + self.rotary_dim
        return ops.zeros((rows, 1, length, width), self.compute_dtype)

"""The projections of all multi-head layers."""

import itertools
import math
from typing import Any, ClassVar, NamedTuple

import keras
from keras import ops

from keras_attn.checks import check_flag, check_probability, check_sizes
from keras_attn.layers.masked_layer import MaskedLayer
from keras_attn.layers.projections import Projections
from keras_attn.ops.linear import linear, loop_kernel, merge_heads, split_heads
from keras_attn.ops.normalize_vectors import L2, normalize_vectors

INITIAL_SCALE = 10.0
"""g of queries and keys of unit length, at first; about log₂(L² − L) for sequences of L = 32."""


class HeadKernels(NamedTuple):
    """The projections of a `MultiHead` layer, cast and concatenated; biases are None or vectors.

    Attributes:
        query: compute dtype (D, H·d_k).
        key_value: compute dtype (E, G·(d_k + d_v)), or None if keys and values differ in width.
        joined: compute dtype (D, H·d_k + G·(d_k + d_v)), or None if queries differ from them in
            width.
        output: compute dtype (H·d_v, O).
        query_bias: compute dtype (H·d_k,).
        key_value_bias: compute dtype (G·(d_k + d_v),).
        output_bias: compute dtype (O,).
    """

    query: Any
    key_value: Any
    joined: Any
    output: Any
    query_bias: Any
    key_value_bias: Any
    output_bias: Any


class KeysAndValues(NamedTuple):
    """Projected keys and values by head.

    Attributes:
        keys: compute dtype (B, G, S, d_k).
        values: compute dtype (B, G, S, d_v).
    """

    keys: Any
    values: Any


class MultiHead(Projections, MaskedLayer):
    """Abstract: projections to H heads of queries and G of keys and values. Subclasses attend.

    Weights have the order and the shapes of `keras.layers.MultiHeadAttention`'s: kernel, then bias,
    of query, key, value and output, with an axis for the heads.

    Args:
        num_heads: int > 0. H.
        key_dim: int > 0. d_k, width of a head's queries and keys.
        value_dim: int > 0 or None. d_v, width of a head's values; None is key_dim.
        dropout: probability. On the attention weights.
        use_bias: bool. Whether all projections have a bias.
        output_shape: int > 0, a tuple of one, or None. Width O of the output; None is the query's.
        kernel_initializer: Keras initializer of each projection's matrix, such as (D, H·d_k).
        bias_initializer: Keras initializer of the biases.
        seed: int or None. Of the dropout.
        num_key_value_heads: int > 0 or None. G, which divides H; None is H.

    Raises:
        ValueError: a width < 1; num_key_value_heads that does not divide num_heads; dropout outside
            [0, 1).
    """

    custom_config = ("output_shape",)
    projections = ("query_kernel", "key_kernel", "value_kernel", "output_kernel")
    contracted: ClassVar = {"output_kernel": 2}
    query_key_normalization: str | None = None
    """How queries and keys are normalized, a kind of `ops.normalize_vectors`; None is not."""

    def __init__(
        self,
        num_heads,
        key_dim,
        value_dim=None,
        dropout=0.0,
        use_bias=True,
        output_shape=None,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        seed=None,
        num_key_value_heads=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(num_heads=num_heads, key_dim=key_dim)
        check_groups(num_heads, num_key_value_heads)
        self.num_key_value_heads = num_key_value_heads
        if value_dim is not None:
            check_sizes(value_dim=value_dim)
        check_probability("dropout", dropout)
        self.num_heads, self.key_dim, self.value_dim = num_heads, key_dim, value_dim
        self.output_dim = _output_dim(output_shape)
        self.use_bias = check_flag("use_bias", use_bias)
        self.dropout, self.seed = dropout, seed
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        # Not a Dropout layer: Keras quantizes a layer only if it has none inside.
        self.seed_generator = keras.random.SeedGenerator(seed) if dropout else None

    @property
    def groups(self):
        """G, the number of heads of keys and values."""
        return self.num_key_value_heads or self.num_heads

    def make_kernels(self, width, value_width, key_width):
        """Creates the weights for queries, values and keys of these widths, in `build`."""
        heads, key_dim, value_dim = self.num_heads, self.key_dim, self.value_dim or self.key_dim
        groups = self.groups
        outputs = self.output_dim or width
        self.query_kernel = self._kernel((width, heads, key_dim), "query_kernel")
        self.query_bias = self._bias((heads, key_dim), "query_bias")
        self.key_kernel = self._kernel((key_width, groups, key_dim), "key_kernel")
        self.key_bias = self._bias((groups, key_dim), "key_bias")
        self.value_kernel = self._kernel((value_width, groups, value_dim), "value_kernel")
        self.value_bias = self._bias((groups, value_dim), "value_bias")
        self.output_kernel = self._kernel((heads, value_dim, outputs), "output_kernel")
        self.output_bias = self._bias((outputs,), "output_bias")
        if self.query_key_normalization is not None:
            self._make_gains()

    def _make_gains(self):
        """Creates what normalized queries and keys are multiplied by, shared by the heads."""
        if self.query_key_normalization == L2:
            scale = keras.initializers.Constant(INITIAL_SCALE)
            self.query_gain = self.add_weight(shape=(), initializer=scale, name="score_scale")
            self.key_gain = None
            return
        self.query_gain, self.key_gain = (
            self.add_weight(shape=(self.key_dim,), initializer="ones", name=name)
            for name in ("query_gain", "key_gain")
        )

    def _kernel(self, shape, name):
        return self.add_kernel(shape, name, self.kernel_initializer)

    def _bias(self, shape, name):
        if not self.use_bias:
            return None
        return self.add_weight(shape=shape, initializer=self.bias_initializer, name=name)

    def _vector(self, bias):
        """A bias in the compute dtype, (H·d,); None for None."""
        return None if bias is None else ops.reshape(ops.cast(bias, self.compute_dtype), (-1,))

    def kernels(self):
        """`HeadKernels` as they are; see `loop_kernels`."""
        query, key, value, output = map(self.matrix, self.projections)
        query_bias, key_bias, value_bias, output_bias = map(
            self._vector, (self.query_bias, self.key_bias, self.value_bias, self.output_bias)
        )
        key_value = joined = key_value_bias = None
        if key.shape[0] == value.shape[0]:
            key_value = ops.concatenate([key, value], axis=1)
            if query.shape[0] == key.shape[0]:
                joined = ops.concatenate([query, key_value], axis=1)
        if self.use_bias:
            key_value_bias = ops.concatenate([key_bias, value_bias])
        kernels = HeadKernels(
            query, key_value, joined, output, query_bias, key_value_bias, output_bias
        )
        return kernels._replace(**self.factors)

    def loop_kernels(self):
        """`HeadKernels` for a decoding loop, made once before it, with padded columns for fast
        products of few rows; the keys and values of a memory are projected separately."""
        kernels = self.kernels()
        if self.factors:
            return kernels
        wider = {
            name: loop_kernel(kernel)
            for name, kernel in kernels._asdict().items()
            if kernel is not None and name not in ("key_value", "key_value_bias")
        }
        return kernels._replace(**wider)

    def project_query(self, query, kernels=None):
        """(B, T, D) to (B, H, T, d_k)."""
        kernels = kernels or self.kernels()
        units = self.num_heads * self.key_dim
        projected = linear(query, kernels.query, kernels.query_bias, units)
        return self.normalize_query(split_heads(projected, self.num_heads))

    def project(self, value, key=None, kernels=None):
        """Values (B, S, F), and keys (B, S, E) if they differ, to `KeysAndValues`.

        Done once per memory; a single product if the keys are the values.
        """
        kernels = kernels or self.kernels()
        if kernels.key_value is not None and (key is None or key is value):
            projected = linear(value, kernels.key_value, kernels.key_value_bias)
            keys, values = self._by_head(projected, self._widths()[1:])
            return KeysAndValues(self.normalize_keys(keys), values)
        parts = (
            (value if key is None else key, "key_kernel", self.key_bias),
            (value, "value_kernel", self.value_bias),
        )
        keys, values = (
            split_heads(linear(inputs, self.matrix(kernel), self._vector(bias)), self.groups)
            for inputs, kernel, bias in parts
        )
        return KeysAndValues(self.normalize_keys(keys), values)

    def project_self(self, inputs, kernels=None):
        """(B, T, D) to queries (B, H, T, d_k) and `KeysAndValues`, by one product."""
        kernels = kernels or self.kernels()
        projected = linear(inputs, kernels.joined, self._joined_bias(kernels))
        query, keys, values = self._by_head(projected, self._widths())
        return self.normalize_query(query), KeysAndValues(self.normalize_keys(keys), values)

    def project_all(self, query, value, key, kernels):
        """Queries by head and `KeysAndValues` of a call, by one product in self-attention."""
        if value is query and key is query and kernels.joined is not None:
            return self.project_self(query, kernels)
        return self.project_query(query, kernels), self.project(value, key, kernels)

    def normalize_query(self, query):
        """Queries (..., d_k), or rows (..., H·d_k), normalized by head if the layer does so.

        Of unit length, they are also multiplied by g √d_k: g replaces 1 / √d_k in the score.
        """
        if self.query_key_normalization is None:
            return query
        gain = self.query_gain
        if self.query_key_normalization == L2:
            gain = gain * math.sqrt(self.key_dim)
        return self._normalize(query, gain)

    def normalize_keys(self, keys):
        """Keys (..., d_k), or rows (..., G·d_k), likewise."""
        if self.query_key_normalization is None:
            return keys
        return self._normalize(keys, self.key_gain)

    def _normalize(self, inputs, gain):
        heads, shape = inputs.shape[-1] // self.key_dim, ops.shape(inputs)
        by_head = ops.reshape(inputs, (*shape[:-1], heads, self.key_dim))
        normal = normalize_vectors(by_head, self.query_key_normalization, gain)
        return ops.reshape(normal, shape)

    def _widths(self):
        """Heads and width of each of queries, keys and values."""
        keys = self.groups, self.key_dim
        return (self.num_heads, self.key_dim), keys, (self.groups, self.value_dim or self.key_dim)

    def _by_head(self, projected, widths):
        """(B, T, Σ H·d) to a (B, H, T, d) for each of the heads and widths."""
        if len(set(widths)) == 1:  # One transpose is faster than three.
            batch, length, _ = ops.shape(projected)
            split = (batch, length, len(widths), *widths[0])
            return ops.unstack(ops.transpose(ops.reshape(projected, split), (2, 0, 3, 1, 4)))
        parts = ops.split(projected, _ends(widths)[:-1], axis=-1)
        return [split_heads(part, heads) for part, (heads, _) in zip(parts, widths)]

    def project_rows(self, inputs, kernels=None):
        """(..., D) to queries (..., H·d_k), keys (..., G·d_k) and values (..., G·d_v), by one
        product."""
        kernels = kernels or self.kernels()
        places = _ends(self._widths())
        places = places if places[-1] < kernels.joined.shape[-1] else places[:-1]
        projected = linear(inputs, kernels.joined, self._joined_bias(kernels))
        query, keys, values = ops.split(projected, places, axis=-1)[:3]
        return self.normalize_query(query), self.normalize_keys(keys), values

    def _joined_bias(self, kernels):
        """The bias of `kernels.joined`, or None."""
        if kernels.query_bias is None:
            return None
        width, end = self.num_heads * self.key_dim, kernels.joined.shape[-1]
        bias = ops.concatenate([kernels.query_bias[:width], kernels.key_value_bias])
        return ops.pad(bias, (0, end - bias.shape[0]))

    def merge_rows(self, context, kernels=None):
        """(B, H, T, d_v) to rows (B·T, O)."""
        kernels = kernels or self.kernels()
        units = self.output_kernel.shape[-1]
        return linear(merge_heads(context), kernels.output, kernels.output_bias, units)

    def merge(self, context, kernels=None):
        """(B, H, T, d_v) to (B, T, O)."""
        batch, _, length, _ = ops.shape(context)
        rows = self.merge_rows(context, kernels)
        return ops.reshape(rows, (batch, length, rows.shape[-1]))

    def zero_cache(self, rows, slots):
        """`KeysAndValues` of zeros with leading axis `rows` and so many slots."""
        widths = self.key_dim, self.value_dim or self.key_dim
        shapes = ((rows, self.groups, slots, width) for width in widths)
        return KeysAndValues(*(ops.zeros(shape, self.compute_dtype) for shape in shapes))

    def drop(self, training=None):
        """The `dropout` argument of `ops.attend`."""
        return weight_dropout(self, training)

    def get_config(self):
        return {**super().get_config(), "output_shape": self.output_dim}


def weight_dropout(layer, training=None):
    """The `dropout` argument of `ops.attend` for a layer with a rate and a generator, or None."""
    if layer.seed_generator is None or not training:
        return None
    return lambda weights: keras.random.dropout(weights, layer.dropout, seed=layer.seed_generator)


def check_groups(num_heads, num_key_value_heads):
    """Raises ValueError unless the heads of keys and values, or None, divide those of queries."""
    if num_key_value_heads is None:
        return
    check_sizes(num_key_value_heads=num_key_value_heads)
    if num_heads % num_key_value_heads:
        raise ValueError(
            f"Expected num_key_value_heads that divides num_heads={num_heads}. "
            f"Received: num_key_value_heads={num_key_value_heads}"
        )


def _ends(widths):
    """Where the part of each of the heads and widths ends, in a row of all."""
    return list(itertools.accumulate(heads * width for heads, width in widths))


def _output_dim(output_shape):
    """Width of the output from Keras' `output_shape`: an int, a tuple of one int, or None."""
    if isinstance(output_shape, tuple | list):
        if len(output_shape) != 1:
            raise ValueError(
                "Expected output_shape to be a width, a tuple of one, or None. "
                f"Received: output_shape={output_shape!r}"
            )
        (output_shape,) = output_shape
    if output_shape is not None:
        check_sizes(output_shape=output_shape)
    return output_shape

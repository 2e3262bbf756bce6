"""What all multi-head layers share: the projections."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.layers.scored_attention import check_width
from keras_attn.ops.linear import linear, loop_kernel, merge_heads, split_heads


class HeadKernels(NamedTuple):
    """The projections of a `MultiHead` layer, cast and joined once; biases are None or vectors.

    Attributes:
        query: compute dtype (D, H·d_k).
        key_value: compute dtype (E, H·(d_k + d_v)).
        joined: compute dtype (D, H·(2 d_k + d_v)), or None where queries and keys differ in width.
        output: compute dtype (H·d_v, O).
        query_bias: compute dtype (H·d_k,).
        key_value_bias: compute dtype (H·(d_k + d_v),); 0 for the keys.
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
        keys: compute dtype (B, H, S, d_k).
        values: compute dtype (B, H, S, d_v).
    """

    keys: Any
    values: Any


class MultiHead(keras.layers.Layer):
    """Abstract: projections to H heads and back. Subclasses attend.

    Args:
        heads: int > 0. H.
        key_units: int > 0. d_k, width of a head's queries and keys.
        value_units: int > 0 or None. d_v, width of a head's values; None is key_units.
        output_units: int > 0 or None. Width O of the output; None is the query's.
        dropout: probability. On the attention weights.
        use_bias: bool. Whether queries, values and output have a bias. Keys have none, for a
            softmax over keys does not see it.
        kernel_initializer: Keras initializer of each projection.

    Raises:
        ValueError: a width < 1; dropout outside [0, 1).
    """

    def __init__(
        self,
        heads,
        key_units,
        value_units=None,
        output_units=None,
        dropout=0.0,
        use_bias=False,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        widths = {"heads": heads, "key_units": key_units}
        widths |= {"value_units": value_units, "output_units": output_units}
        for name, units in widths.items():
            if units is not None or name in ("heads", "key_units"):
                check_width(name, units)
        if not 0 <= dropout < 1:
            raise ValueError(f"Expected 0 <= dropout < 1. Received: dropout={dropout}")
        self.supports_masking = True
        self.heads, self.key_units = heads, key_units
        self.value_units, self.output_units = value_units, output_units
        self.dropout, self.use_bias = dropout, bool(use_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.weight_dropout = keras.layers.Dropout(dropout, dtype="float32") if dropout else None

    def make_kernels(self, width, keys_width):
        """Makes the weights for queries of `width` and keys of `keys_width`, in `build`."""
        keys = self.heads * self.key_units
        values = self.heads * (self.value_units or self.key_units)
        outputs = self.output_units or width
        self.query_kernel = self._kernel((width, keys), "query_kernel")
        self.key_kernel = self._kernel((keys_width, keys), "key_kernel")
        self.value_kernel = self._kernel((keys_width, values), "value_kernel")
        self.output_kernel = self._kernel((values, outputs), "output_kernel")
        if self.use_bias:
            self.query_bias = self._bias(keys, "query_bias")
            self.value_bias = self._bias(values, "value_bias")
            self.output_bias = self._bias(outputs, "output_bias")

    def _kernel(self, shape, name):
        initializer = self.kernel_initializer.clone()
        return self.add_weight(shape=shape, initializer=initializer, name=name)

    def _bias(self, units, name):
        return self.add_weight(shape=(units,), initializer="zeros", name=name)

    def kernels(self):
        """`HeadKernels` as they are; see `loop_kernels`."""
        query, key, value, output = (
            ops.cast(one, self.compute_dtype)
            for one in (self.query_kernel, self.key_kernel, self.value_kernel, self.output_kernel)
        )
        key_value = ops.concatenate([key, value], axis=1)
        same = query.shape[0] == key.shape[0]
        joined = ops.concatenate([query, key_value], axis=1) if same else None
        biases = (None, None, None)
        if self.use_bias:
            no_bias = ops.zeros((key.shape[1],), self.compute_dtype)
            query_bias, value_bias, output_bias = (
                ops.cast(one, self.compute_dtype)
                for one in (self.query_bias, self.value_bias, self.output_bias)
            )
            biases = (query_bias, ops.concatenate([no_bias, value_bias]), output_bias)
        return HeadKernels(query, key_value, joined, output, *biases)

    def loop_kernels(self):
        """`HeadKernels` that a decoding loop takes once, before its first step, with extra columns
        for its products of few rows; the keys and values of a memory are projected before."""
        kernels = self.kernels()
        wider = {
            name: loop_kernel(one)
            for name, one in kernels._asdict().items()
            if one is not None and name not in ("key_value", "key_value_bias")
        }
        return kernels._replace(**wider)

    def project_query(self, query, kernels=None):
        """(B, T, D) to (B, H, T, d_k)."""
        kernels = kernels or self.kernels()
        units = self.heads * self.key_units
        projected = linear(query, kernels.query, kernels.query_bias, units)
        return split_heads(projected, self.heads)

    def project(self, keys, kernels=None):
        """(B, S, E) to `KeysAndValues`, by one product; once for a memory that is read often."""
        kernels = kernels or self.kernels()
        projected = linear(keys, kernels.key_value, kernels.key_value_bias)
        return KeysAndValues(*self._by_head(projected, 2))

    def project_self(self, inputs, kernels=None):
        """(B, T, D) to queries (B, H, T, d_k) and `KeysAndValues`, by one product."""
        kernels = kernels or self.kernels()
        projected = linear(inputs, kernels.joined, self._joined_bias(kernels))
        query, *both = self._by_head(projected, 3)
        return query, KeysAndValues(*both)

    def _by_head(self, projected, count):
        """(B, T, count parts of H·d) to `count` of (B, H, T, d); the last part is the values."""
        if self.value_units in (None, self.key_units):  # One transposition is faster than three.
            batch, length, _ = ops.shape(projected)
            split = (batch, length, count, self.heads, self.key_units)
            return ops.unstack(ops.transpose(ops.reshape(projected, split), (2, 0, 3, 1, 4)))
        places = [self.heads * self.key_units * part for part in range(1, count)]
        return [split_heads(part, self.heads) for part in ops.split(projected, places, axis=-1)]

    def project_rows(self, inputs, kernels=None):
        """(..., D) to queries and keys (..., H·d_k) and values (..., H·d_v), by one product."""
        kernels = kernels or self.kernels()
        width, end = self.heads * self.key_units, kernels.joined.shape[-1]
        units = 2 * width + self.heads * (self.value_units or self.key_units)
        places = [width, 2 * width, units][: 2 + (units < end)]
        projected = linear(inputs, kernels.joined, self._joined_bias(kernels))
        return ops.split(projected, places, axis=-1)[:3]

    def _joined_bias(self, kernels):
        """What belongs to `kernels.joined`, or None."""
        if kernels.query_bias is None:
            return None
        width, end = self.heads * self.key_units, kernels.joined.shape[-1]
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

    def drop(self, training=None):
        """What `ops.attend` takes as `dropout`."""
        if self.weight_dropout is None or not training:
            return None
        return lambda weights: self.weight_dropout(weights, training=training)

    def compute_mask(self, *args, **kwargs):
        """No mask goes on: pass masks explicitly where a later layer wants them."""
        return None

    def get_config(self):
        config = {
            "heads": self.heads,
            "key_units": self.key_units,
            "value_units": self.value_units,
            "output_units": self.output_units,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }
        return {**super().get_config(), **config}

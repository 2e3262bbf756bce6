"""Generating a token, or copying it from the source."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.local_attention import check_global
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask, sequence_mask
from keras_attn.ops.attend import attention_weights
from keras_attn.ops.cached_attention import hypotheses_of
from keras_attn.ops.copied_runs import copied_runs
from keras_attn.ops.copy_mixture import copy_mixture
from keras_attn.ops.greatest import greatest
from keras_attn.ops.masks import zero_masked


class CopyMemory(NamedTuple):
    """What every step of a `CopyMixture` reads; all lead with B.

    Attributes:
        keys: what the attention's `project_keys` returned.
        tokens: int32 (B, S), ids of the source's tokens.
        mask: bool (B, S) or None.
        continues: bool (B, S) or None, False where a name begins.
    """

    keys: Any
    tokens: Any
    mask: Any
    continues: Any = None


@keras.saving.register_keras_serializable(package="keras_attn")
class CopyMixture(MaskedLayer):
    """Logits mixed with copies of the source's tokens, for names and numbers never seen before.

        α_t = softmax_s(score(q_t, k_s)),  g_t = σ(w · q_t + b)
        p_t(v) = (1 − g_t) softmax(logits_t)_v + g_t Σ_{s: token_s = v} α_t,s

    Source and answer share their vocabulary; one of pieces can spell, and so copy, any word. With
    `longest_run`, the layer is told where a name that is being copied goes on, so that also one
    never seen is copied to its end: u[r_t,s] is added to the score, and v[max_s r_t,s] to the
    gate's log-odds, with r of `ops.copied_runs` and learned u and v.

    Args:
        attention: `ScoredAttention`, which points at what is copied.
        bias: float. First b; below 0, a model begins by generating.
        longest_run: int ≥ 0. Up to how many copied tokens are counted; 0: none are.

    Call arguments:
        query: float (N, T, D), N = B·K: K sequences for each of B examples, which are neighbors.
        value: float (B, S, E), the encoder's output.
        logits: float (N, T, V).
        tokens: int (B, S), the token that each value stands for.
        runs: int (N, T, S), r; needed with `longest_run`.
        query_mask, value_mask: bool (N, T), (B, S); True = attend. Filled in by Keras.
        return_attention_scores: bool.

    Returns:
        log_probabilities: float32 (N, T, V), which are logits of the mixture, with the query's
            mask.
        weights: with return_attention_scores, float32 (N, T, S), α.

    Raises:
        ValueError: no global `ScoredAttention`; a negative longest_run; no runs, or runs without
            `longest_run`.

    Example:
        >>> from keras_attn.layers import MultiplicativeAttention
        >>> mixed = CopyMixture(MultiplicativeAttention())(
        ...     ops.ones((2, 3, 5)), ops.ones((2, 11, 7)), ops.ones((2, 3, 13)),
        ...     ops.ones((2, 11), "int32"),
        ... )
        >>> tuple(mixed.shape)
        (2, 3, 13)

    Source: See et al. 2017, arXiv:1704.04368, 2.2; copying pieces of fields, Sha et al. 2018,
    arXiv:1709.00155, 2.4. Differs: its own attention points, the gate reads the query alone, and
    runs are ours.
    """

    ranks = {"query": (3,), "value": (3,), "logits": (3,), "tokens": (2,), "runs": (3,)}
    sequences = True

    def __init__(self, attention, bias=-1.0, longest_run=0, **kwargs):
        super().__init__(**kwargs)
        check_sizes(least=0, longest_run=longest_run)
        self.attention, self.bias, self.longest_run = check_global(attention), bias, longest_run

    def build(
        self, query_shape, value_shape, logits_shape=None, tokens_shape=None, runs_shape=None
    ):
        if not self.attention.built:
            self.attention.build(query_shape, value_shape)
        shape = (query_shape[-1], 1)
        self.kernel = self.add_weight(shape=shape, initializer="glorot_uniform", name="kernel")
        initializer = keras.initializers.Constant(self.bias)
        self.gate_bias = self.add_weight(shape=(1,), initializer=initializer, name="gate_bias")
        if self.longest_run:
            shape = (self.longest_run + 1,)
            self.run_scores = self.add_weight(shape=shape, initializer="zeros", name="run_scores")
            self.run_switch = self.add_weight(shape=shape, initializer="zeros", name="run_switch")

    def call(
        self,
        query,
        value,
        logits,
        tokens,
        runs=None,
        query_mask=None,
        value_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        query_mask = sequence_mask(query, query_mask=query_mask)
        value_mask = sequence_mask(value, value_mask=value_mask)
        query, logits = (zero_masked(inputs, query_mask) for inputs in (query, logits))
        mixed, weights, _ = self.mix(query, logits, self.start(value, tokens, value_mask), runs)
        mixed = carry_mask(mixed, query_mask)
        return (mixed, weights) if return_attention_scores else mixed

    def start(self, value, tokens, mask=None, continues=None):
        """`CopyMemory` of values (B, S, E) that stand for tokens (B, S).

        Args:
            value: float (B, S, E).
            tokens: int (B, S).
            mask: bool (B, S) or None.
            continues: bool (B, S), False where a name begins; needed by `runs`.
        """
        keys = self.attention.project_keys(zero_masked(value, mask))
        return CopyMemory(keys, ops.cast(tokens, "int32"), mask, continues)

    def runs(self, tokens, memory, recent=None):
        """Runs of T steps that have consumed tokens, or None where the layer counts none.

        Args:
            tokens: int32 (N, T).
            memory: `CopyMemory`.
            recent: int32 (N, longest_run − 1), the tokens before, or None.
        """
        if not self.longest_run:
            return None
        return copied_runs(tokens, memory.tokens, memory.continues, self.longest_run, recent)

    def mix(self, query, logits, memory, runs=None):
        """The next T steps.

        Args:
            query: float (N, T, D).
            logits: float (N, T, V).
            memory: `CopyMemory`.
            runs: int32 (N, T, S), or None.

        Returns:
            log_probabilities: float32 (N, T, V).
            weights: float32 (N, T, S), α.
            share: float32 (N, T, 1), g.
        """
        if (runs is None) != (not self.longest_run):
            raise ValueError(
                "Expected runs with longest_run > 0, and none without. Received: "
                f"longest_run={self.longest_run} and {'no runs' if runs is None else 'runs'}"
            )
        rows, steps, units = ops.shape(query)
        examples, size = ops.shape(memory.tokens)
        together = (examples, hypotheses_of(rows, examples) * steps, units)
        mask = None if memory.mask is None else memory.mask[:, None, :]
        scores = self.attention.score(ops.reshape(query, together), memory.keys)
        kernel, bias = (ops.cast(weight, query.dtype) for weight in (self.kernel, self.gate_bias))
        switch = ops.cast(ops.matmul(query, kernel) + bias, "float32")
        if runs is not None:
            followed = ops.reshape(ops.take(self.run_scores, runs), ops.shape(scores))
            scores = ops.cast(scores, "float32") + ops.cast(followed, "float32")
            longest = ops.take(self.run_switch, greatest(runs, 0, keepdims=True))
            switch = switch + ops.cast(longest, "float32")
        weights = ops.reshape(attention_weights(scores, mask), (rows, steps, size))
        mixed = copy_mixture(logits, weights, switch, memory.tokens)
        return mixed, weights, ops.sigmoid(switch)

    def compute_output_shape(
        self, query_shape, value_shape, logits_shape, tokens_shape, runs_shape=None
    ):
        return logits_shape

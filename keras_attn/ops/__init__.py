"""Pure functions of tensors: masks, scores, attention, positions, grids, cached steps."""

from keras_attn.ops.allow_empty_batch import allow_empty_batch
from keras_attn.ops.attend import attend, attention_weights
from keras_attn.ops.attention_context import attention_context
from keras_attn.ops.batched_product import batched_product
from keras_attn.ops.cached_attention import (
    NextSteps,
    attend_slots,
    cache_slots,
    hypotheses_of,
    next_steps,
    own_caches,
    owning_from,
    write_slots,
)
from keras_attn.ops.compiled import compiled
from keras_attn.ops.copied_runs import copied_runs
from keras_attn.ops.copy_mixture import copy_mixture
from keras_attn.ops.counter_random import counter_uniform, derived_seed
from keras_attn.ops.differential_attention import (
    differential_attention,
    differential_scale,
    initial_lambda,
)
from keras_attn.ops.dynamic_memory import (
    allocation_weights,
    follow_links,
    memory_usage,
    temporal_links,
    write_precedence,
)
from keras_attn.ops.fact_relations import NUM_RELATIONS, fact_relations
from keras_attn.ops.gated_convolution import gated_convolution, gated_linear, sequence_windows
from keras_attn.ops.grouped_product import grouped_product
from keras_attn.ops.hybrid_attention import field_links, hybrid_weights
from keras_attn.ops.hypotheses import (
    gather_hypotheses,
    prefill_by_steps,
    repeat_hypotheses,
    select_hypotheses,
)
from keras_attn.ops.latent_attention import attend_latents, latent_score
from keras_attn.ops.linear import as_rows, linear, loop_kernel, merge_heads, rows_as, split_heads
from keras_attn.ops.linear_attention import (
    LinearSums,
    causal_linear_attention,
    linear_attention,
    linear_attention_weights,
    positive_features,
)
from keras_attn.ops.log_probabilities import log_probabilities
from keras_attn.ops.masks import (
    as_attention_mask,
    as_mask,
    causal_mask,
    combine_masks,
    padding_mask,
    sliding_window_mask,
    zero_masked,
)
from keras_attn.ops.memory_addressing import (
    circular_shift,
    content_weights,
    cosine_similarity,
    interpolate,
    read_memory,
    sharpen,
    steps_read,
    write_memory,
)
from keras_attn.ops.memory_bank import read_bank
from keras_attn.ops.memory_network import (
    dropped_sentences,
    encode_sentences,
    memory_hop,
    newest_sentences,
    sentence_ages,
)
from keras_attn.ops.multi_step_attention import multi_step_attention
from keras_attn.ops.normalize_vectors import normalize_vectors
from keras_attn.ops.normalized_kernel import kernel_norms, normalized_kernel
from keras_attn.ops.positions import positions_from, sinusoids
from keras_attn.ops.recurrent import gru_step, lstm_step
from keras_attn.ops.reinforce import leave_one_out, reinforce_objective
from keras_attn.ops.relative_bias import alibi_bias, alibi_slopes, relative_buckets
from keras_attn.ops.replicas import first_row, global_mean, sum_over_replicas
from keras_attn.ops.resample import bicubic_matrix, resample_grid
from keras_attn.ops.restricted_attention import restricted_attention
from keras_attn.ops.rollout import attention_rollout
from keras_attn.ops.rotary import (
    linear_scaling,
    llama3_scaling,
    rotary_frequencies,
    rotate,
    scaled_frequencies,
    yarn_scaling,
)
from keras_attn.ops.sample import Sample, sample
from keras_attn.ops.sampling_grids import (
    affine_grid,
    attention_grid,
    projective_grid,
    similarity_grid,
    spline_solution,
    target_points,
    thin_plate_spline_grid,
    translation_grid,
)
from keras_attn.ops.scale_gradient import scale_gradient
from keras_attn.ops.scaled_sum import scaled_sum
from keras_attn.ops.scan import scan
from keras_attn.ops.scores import (
    additive_score,
    capped_score,
    dot_score,
    multiplicative_score,
    scaled_dot_score,
)
from keras_attn.ops.smoothed_cross_entropy import smoothed_cross_entropy
from keras_attn.ops.sparse_links import SparseLinks, follow_sparse_links, sparse_temporal_links
from keras_attn.ops.symmetric_divergence import symmetric_divergence
from keras_attn.ops.take_by_row import take_by_row
from keras_attn.ops.top_k import few_greatest
from keras_attn.public_names import public_names

__all__ = public_names(globals())

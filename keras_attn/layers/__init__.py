"""Attention mechanisms as Keras layers; none needs tensorflow-text."""

from keras_attn.layers.additive_attention import AdditiveAttention
from keras_attn.layers.alibi_bias import AlibiBias
from keras_attn.layers.attention_cell import AttentionCell
from keras_attn.layers.attention_pooling import AttentionPooling
from keras_attn.layers.context_cell import ContextCell
from keras_attn.layers.context_gru_cell import ContextGRUCell
from keras_attn.layers.context_lstm_cell import ContextLSTMCell
from keras_attn.layers.copy_mixture import CopyMixture
from keras_attn.layers.differential_attention import DifferentialAttention
from keras_attn.layers.dnc_cell import DNCCell, DNCState
from keras_attn.layers.dot_attention import DotAttention
from keras_attn.layers.feed_forward import FeedForward
from keras_attn.layers.field_positions import FieldPositions
from keras_attn.layers.gated_convolution import GatedConvolution
from keras_attn.layers.general_attention import GeneralAttention
from keras_attn.layers.global_attention import GlobalAttention
from keras_attn.layers.grid_positions import GridPositions
from keras_attn.layers.hybrid_attention import HybridAttention
from keras_attn.layers.last_state_attention import LastStateAttention
from keras_attn.layers.learned_positions import LearnedPositions
from keras_attn.layers.linear_attention import LinearAttention
from keras_attn.layers.local_monotonic_attention import LocalMonotonicAttention
from keras_attn.layers.local_predictive_attention import LocalPredictiveAttention
from keras_attn.layers.location_attention import LocationAttention
from keras_attn.layers.location_sampler import LocationSampler
from keras_attn.layers.masked_convolution import MaskedConvolution
from keras_attn.layers.memory_bank import MemoryBank
from keras_attn.layers.memory_bank_cell import MemoryBankCell
from keras_attn.layers.memory_network import MemoryNetwork
from keras_attn.layers.memory_rnn import MemoryRNN
from keras_attn.layers.multi_head_attention import MultiHeadAttention
from keras_attn.layers.multi_head_latent_attention import MultiHeadLatentAttention
from keras_attn.layers.multi_step_attention import MultiStepAttention
from keras_attn.layers.multiplicative_attention import MultiplicativeAttention
from keras_attn.layers.next_source import NextSource
from keras_attn.layers.ngram_embedding import NGramEmbedding
from keras_attn.layers.ntm_cell import NTMCell, NTMState
from keras_attn.layers.patch_encoder import PatchEncoder
from keras_attn.layers.perceiver_resampler import PerceiverResampler
from keras_attn.layers.relation_bias import RelationBias
from keras_attn.layers.relative_bias import RelativeBias
from keras_attn.layers.relative_positions import RelativePositions
from keras_attn.layers.restricted_self_attention import RestrictedSelfAttention
from keras_attn.layers.rotary_positions import RotaryPositions
from keras_attn.layers.sampled_attention import SampledAttention
from keras_attn.layers.scaled_dot_attention import ScaledDotAttention
from keras_attn.layers.scaled_embedding import ScaledEmbedding
from keras_attn.layers.scored_attention import ScoredAttention
from keras_attn.layers.sentence_encoder import SentenceEncoder
from keras_attn.layers.sinusoidal_positions import SinusoidalPositions
from keras_attn.layers.spatial_softmax import SpatialSoftmax
from keras_attn.layers.spatial_transformer import SpatialTransformer
from keras_attn.layers.stacked_context_cells import StackedContextCells
from keras_attn.layers.transformer_decoder_block import TransformerDecoderBlock
from keras_attn.layers.transformer_encoder_block import TransformerEncoderBlock
from keras_attn.layers.transforms import (
    Affine,
    AttentionWindow,
    Projective,
    Similarity,
    ThinPlateSpline,
    Translation,
)
from keras_attn.layers.weight_normalized_dense import WeightNormalizedDense
from keras_attn.public_names import public_names

__all__ = public_names(globals())

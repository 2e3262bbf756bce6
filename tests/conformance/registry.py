"""One entry a layer; it inherits every test of the matrix."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, replace

import keras
import numpy as np

from keras_attn.layers import (
    AdditiveAttention,
    Affine,
    AlibiBias,
    AttentionPooling,
    ContextGRUCell,
    CopyMixture,
    DifferentialAttention,
    DNCCell,
    DotAttention,
    FeedForward,
    FieldPositions,
    GatedConvolution,
    GeneralAttention,
    GridPositions,
    HybridAttention,
    LastStateAttention,
    LearnedPositions,
    LinearAttention,
    LocalMonotonicAttention,
    LocalPredictiveAttention,
    LocationAttention,
    LocationSampler,
    MaskedConvolution,
    MemoryBank,
    MemoryNetwork,
    MemoryRNN,
    MultiHeadAttention,
    MultiHeadLatentAttention,
    MultiplicativeAttention,
    MultiStepAttention,
    NextSource,
    NGramEmbedding,
    NTMCell,
    PatchEncoder,
    PerceiverResampler,
    RelationBias,
    RelativeBias,
    RestrictedSelfAttention,
    RotaryPositions,
    SampledAttention,
    ScaledDotAttention,
    ScaledEmbedding,
    SentenceEncoder,
    SinusoidalPositions,
    SpatialSoftmax,
    SpatialTransformer,
    ThinPlateSpline,
    TransformerDecoderBlock,
    TransformerEncoderBlock,
    WeightNormalizedDense,
)
from keras_attn.models.captioner.caption_decoder import CaptionDecoder, CaptionDecoderConfig
from keras_attn.models.captioner.familiarity import Familiarity
from keras_attn.models.captioner.fixed_contexts import BottleneckContext, MeanContext
from keras_attn.models.captioner.hard_attention import HardAttention
from keras_attn.models.captioner.soft_attention import SoftAttention
from keras_attn.models.captioner.transformer_caption_decoder import TransformerCaptionDecoder
from keras_attn.models.conv_seq2seq.conv_seq2seq_config import ConvSeq2SeqConfig
from keras_attn.models.conv_seq2seq.conv_seq2seq_decoder import ConvSeq2SeqDecoder
from keras_attn.models.conv_seq2seq.conv_seq2seq_encoder import ConvSeq2SeqEncoder
from keras_attn.models.data_to_text.fact_encoder import FactEncoder
from keras_attn.models.data_to_text.planning_decoder import PlanningDecoder
from keras_attn.models.dual_encoder.text_encoder import TextEncoder
from keras_attn.models.image_encoders.encoder_vector import EncoderVector
from keras_attn.models.image_encoders.keras_hub_encoder import KerasHubEncoder
from keras_attn.models.image_encoders.small_conv_encoder import SmallConvEncoder
from keras_attn.models.memory.progressive_language_model import ProgressiveLanguageModel
from keras_attn.models.recurrent.recurrent_config import RecurrentConfig
from keras_attn.models.recurrent.recurrent_encoder import RecurrentEncoder
from keras_attn.models.spatial_transformer.spatial_transformer_classifier import (
    SpatialTransformerClassifier,
)
from keras_attn.models.text_classifier.text_classifier import TextClassifier
from keras_attn.models.transformer.transformer_config import TransformerConfig
from keras_attn.models.transformer.transformer_decoder import TransformerDecoder
from keras_attn.models.transformer.transformer_encoder import TransformerEncoder
from keras_attn.models.vision_transformer.grid_rotary_positions import GridRotaryPositions
from keras_attn.models.vision_transformer.image_classifier import ImageClassifier
from keras_attn.models.vision_transformer.multi_head_pooling import MultiHeadPooling
from keras_attn.models.vision_transformer.vision_sequence import VisionSequence
from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer
from keras_attn.models.vision_transformer.vision_transformer_config import VisionTransformerConfig

QUERY, KEYS = (2, 3, 5), (2, 11, 5)
WIDE_KEYS = (2, 11, 7)


@dataclass(frozen=True)
class Case:
    """A layer under test.

    Attributes:
        make: builds the layer with no constructor argument at its default.
        inputs: shape of each input, in the order of `call`.
        integers: vocabulary size of integer inputs by position.
        arguments: further arguments of the call.
        scores: whether the layer returns weights on request.
        memory: whether it attends to a second input under `value_mask`.
        sequence: whether it takes a masked sequence (B, T, D) alone, and gives its mask on.
        attends: whether positions of that sequence see each other.
        sampled: parts of the paths of weights that choose without a gradient (by REINFORCE).
    """

    make: Callable[..., keras.layers.Layer]
    inputs: tuple[tuple[int, ...], ...]
    integers: tuple[tuple[int, int], ...] = ()
    arguments: tuple[tuple[str, bool], ...] = ()
    scores: bool = False
    memory: bool = False
    sequence: bool = False
    attends: bool = False
    sampled: tuple[str, ...] = ()

    def arrays(self, seed=0):
        """Random inputs."""
        random, integers = np.random.default_rng(seed), dict(self.integers)
        return [
            random.integers(1, integers[place], shape).astype("int32")
            if place in integers
            else random.normal(size=shape).astype("float32")
            for place, shape in enumerate(self.inputs)
        ]

    def options(self):
        """Keywords of a call that returns all there is."""
        scores = {"return_attention_scores": True} if self.scores else {}
        return {**dict(self.arguments), **scores}

    def model(self, **kwargs):
        """The layer as a functional model with a list of outputs."""
        integers = dict(self.integers)
        inputs = [
            keras.Input(shape[1:], dtype="int32" if place in integers else "float32")
            for place, shape in enumerate(self.inputs)
        ]
        outputs = self.make(**kwargs)(*inputs, **self.options())
        return keras.Model(inputs, keras.tree.flatten(outputs))


SCALING = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 7}


def _decoder(attention, cell=None, **kwargs):
    sizes = CaptionDecoderConfig(13, 3, 7, 5, 0.0, 3.0)
    return CaptionDecoder(sizes, attention, cell, **kwargs)


def _spatial_transformer(**kwargs):
    localization = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(5, "tanh")])
    options = ((3, 5), "nearest", "border", True, True, 0.7, "he_normal", "channels_first", True)
    transform = ThinPlateSpline(2, 3)
    start = transform.rotation(0.5)
    return SpatialTransformer(localization, transform, *options, start, **kwargs)


def _spatial_transformer_classifier(**kwargs):
    options = {"bound": 0.7, "kernel_initializer": "he_normal", "return_grid": True}
    transformers = []
    for _ in range(2):
        localization = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(5, "tanh")])
        transformers.append(SpatialTransformer(localization, Affine(), (3, 5), **options))
    encoder = keras.layers.Conv2D(2, 3)
    return SpatialTransformerClassifier(transformers, encoder, 7, 0.2, True, 2, **kwargs)


def _familiarity(**kwargs):
    layer, random = Familiarity(7, 3, **kwargs), np.random.default_rng(0)
    layer.adapt(*(random.normal(mean, size=(11, 7)) for mean in (0, 0, 5)))
    return layer


def _hub_encoder(**kwargs):
    import keras_hub

    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 6, "mlp_dim": 7}
    sizes |= {"image_shape": (15, 20, 3), "patch_size": (5, 5), "dtype": kwargs.get("dtype")}
    return KerasHubEncoder(keras_hub.models.ViTBackbone(**sizes), 0.02, [0.1, 0.2, 0.3], **kwargs)


def _text_classifier(**kwargs):
    policy = kwargs.get("dtype")
    encoder = MaskedConvolution(7, 3, dtype=policy)
    pooling = AttentionPooling(AdditiveAttention(3, dtype=policy), dtype=policy)
    return TextClassifier(13, 3, encoder, pooling, 5, 0.2, True, 17, **kwargs)


TRANSFORMER = TransformerConfig(
    13, 17, 1, 5, 7, 2, 3, 11, 0.2, 0.3, True, "learned", 11, "none", True, 1e-5
)
ROTARY = TransformerConfig(
    13,
    None,
    2,
    5,
    7,
    2,
    3,
    5,
    normalize_first=True,
    positions="rotary",
    activation="silu",
    gated=True,
    feed_forward_bias=False,
    normalization="rms",
    parallel=True,
    num_key_value_heads=1,
    sliding_window=7,
    soft_cap=0.7,
    position_arguments={"units": 2, "scaling": SCALING},
)
RELATIVE = replace(ROTARY, positions="relative", parallel=False, position_arguments=None)
CAPTION_TRANSFORMER = replace(
    TRANSFORMER, target_vocabulary_size=None, tied="decoder", output_transform=True
)
FACTS = replace(TRANSFORMER, target_vocabulary_size=None, tied="all")
CONVOLUTIONS = ConvSeq2SeqConfig(
    13, 17, [(7, 3), (11, 5)], [(7, 2), (3, 3)], 5, 3, 0.2, "learned", 11, "none"
)
VISION = VisionTransformerConfig(
    (6, 10),
    2,
    2,
    6,
    11,
    3,
    0.2,
    "token",
    "gelu_tanh",
    1e-5,
    7,
    None,
    (0.1, 0.2, 0.3),
    (0.4, 0.5, 0.6),
)
DECODER_INPUTS = ((2, 11, 3), (2, 5, 4))
CAUSAL = (("use_causal_mask", True),)
ITSELF = {"scores": True, "sequence": True, "attends": True}
MULTI_HEAD = (2, 3, 5, 0.2, False, 7, "he_normal", "ones", 3, 1, 7, 0.7)
STABLE = {"query_key_normalization": "rms", "use_sinks": True}
BLOCK = (2, 3, 7, 13, 0.2, 0.3, True, True, 1e-5, "gelu_tanh", 1, 7, 0.7)
GATED = ("rms", True, False, True)


def _multi_head(positions=AlibiBias, **kwargs):
    heads = {} if positions is RotaryPositions else {"num_heads": 2}
    return MultiHeadAttention(
        *MULTI_HEAD, positions=positions(**heads, dtype=kwargs.get("dtype")), **{**STABLE, **kwargs}
    )


def _block(cls, **kwargs):
    return cls(*BLOCK, AlibiBias(2, dtype=kwargs.get("dtype")), *GATED, **STABLE, **kwargs)


def _rotary_block(cls, **kwargs):
    positions = RotaryPositions(100.0, 2, True, SCALING, dtype=kwargs.get("dtype"))
    return cls(*BLOCK, positions, *GATED, **{**STABLE, "query_key_normalization": "l2"}, **kwargs)


def _differential(positions=AlibiBias, **kwargs):
    heads = {} if positions is RotaryPositions else {"num_heads": 2}
    options = {"output_shape": 7, "dropout": 0.2, "num_key_value_heads": 1}
    positions = positions(**heads, dtype=kwargs.get("dtype"))
    return DifferentialAttention(
        2, 4, 5, lambda_init=0.3, epsilon=1e-4, positions=positions, **options, **kwargs
    )


QUESTION_AND_STORY = {"inputs": ((2, 3), (2, 5, 7)), "integers": ((0, 13), (1, 13))}


def _memory(**kwargs):
    options = {
        "memory_noise": 0.2,
        "word_dropout": 0.1,
        "empty_memories": True,
        "linear_start": True,
        "initializer": "he_normal",
        "seed": 7,
    }
    return MemoryNetwork(13, 11, 2, 5, "bag", "layer_wise", **options, **kwargs)


def _planning(policy):
    content = [MultiplicativeAttention(dtype=policy) for _ in range(2)]
    hybrid = HybridAttention(content[0], 5, 3, 0.2, 0.9, dtype=policy)
    return hybrid, CopyMixture(content[1], 0.5, dtype=policy)


def _restricted(**kwargs):
    options = {"output_shape": 7, "dropout": 0.2, "kernel_initializer": "he_normal"}
    return RestrictedSelfAttention(4, 3, 1, 5, num_key_value_heads=2, **options, **kwargs)


def _linear(**kwargs):
    options = {"use_bias": False, "output_shape": 7, "kernel_initializer": "he_normal"}
    return LinearAttention(4, 3, 5, chunk_size=2, num_key_value_heads=2, **options, **kwargs)


def _resampler(**kwargs):
    probabilities, options = (0.2, 0.3), (True, 1e-5, "gelu_tanh", "he_normal")
    return PerceiverResampler(7, 2, 2, 3, 13, *probabilities, *options, **kwargs)


def _latent(**kwargs):
    positions = RotaryPositions(100.0, 2, True, SCALING, dtype=kwargs.get("dtype"))
    options = 5, 7, 0.2, positions, 1e-5, "he_normal", 3
    return MultiHeadLatentAttention(2, 3, 11, 4, *options, **kwargs)


CASES = {
    "dot": Case(DotAttention, (QUERY, KEYS), scores=True, memory=True),
    "dot_self": Case(DotAttention, (KEYS,), **ITSELF),
    "scaled_dot": Case(ScaledDotAttention, (QUERY, KEYS), scores=True, memory=True),
    "scaled_dot_self": Case(ScaledDotAttention, (KEYS,), arguments=CAUSAL, **ITSELF),
    "multiplicative": Case(
        lambda **k: MultiplicativeAttention("he_normal", **k),
        (QUERY, WIDE_KEYS),
        scores=True,
        memory=True,
    ),
    "additive": Case(
        lambda **k: AdditiveAttention(13, "he_normal", **k),
        (QUERY, WIDE_KEYS),
        scores=True,
        memory=True,
    ),
    "additive_key": Case(
        lambda **k: AdditiveAttention(13, "he_normal", **k),
        (QUERY, WIDE_KEYS, KEYS),
        scores=True,
        memory=True,
    ),
    "additive_self": Case(lambda **k: AdditiveAttention(13, "he_normal", **k), (KEYS,), **ITSELF),
    "local_monotonic": Case(
        lambda **k: LocalMonotonicAttention(MultiplicativeAttention(), 2, **k),
        (QUERY, WIDE_KEYS),
        scores=True,
        memory=True,
    ),
    "local_predictive": Case(
        lambda **k: LocalPredictiveAttention(AdditiveAttention(5), 2, 3, "he_normal", **k),
        (QUERY, WIDE_KEYS),
        scores=True,
    ),
    "location": Case(
        lambda **k: LocationAttention(13, "he_normal", **k),
        (QUERY, WIDE_KEYS),
        scores=True,
        memory=True,
    ),
    "sampled": Case(
        lambda **k: SampledAttention(
            AdditiveAttention(5), LocationSampler(0.3, 0.7, 0.2, 0.8, 11, 1, 0.6), **k
        ),
        (QUERY, WIDE_KEYS),
        scores=True,
        sampled=("/additive",),
    ),
    "last_state": Case(LastStateAttention, (QUERY, WIDE_KEYS), scores=True),
    "general": Case(
        lambda **k: GeneralAttention(AdditiveAttention(7), 5, 3, 2, True, **k),
        (QUERY, WIDE_KEYS),
        scores=True,
        memory=True,
    ),
    "general_self": Case(
        lambda **k: GeneralAttention(MultiplicativeAttention(), 5, 3, 2, True, **k),
        (KEYS,),
        arguments=CAUSAL,
        **ITSELF,
    ),
    "multi_head": Case(
        lambda **k: _multi_head(**k),
        (QUERY, WIDE_KEYS),
        scores=True,
        memory=True,
    ),
    "multi_head_key": Case(
        lambda **k: _multi_head(RelativeBias, query_key_normalization="layer", **k),
        (QUERY, WIDE_KEYS, KEYS),
        scores=True,
        memory=True,
    ),
    "multi_head_self": Case(
        lambda **k: _multi_head(RelativeBias, **k),
        (KEYS,),
        arguments=CAUSAL,
        **ITSELF,
    ),
    "differential": Case(_differential, (QUERY, WIDE_KEYS), scores=True, memory=True),
    "differential_key": Case(_differential, (QUERY, WIDE_KEYS, KEYS), scores=True),
    "differential_self": Case(
        lambda **k: _differential(RotaryPositions, **k), (KEYS,), arguments=CAUSAL, **ITSELF
    ),
    "restricted_self": Case(_restricted, (KEYS,), **ITSELF),
    "linear": Case(_linear, (QUERY, WIDE_KEYS), scores=True, memory=True),
    "linear_self": Case(_linear, (KEYS,), arguments=CAUSAL, **ITSELF),
    "multi_head_latent": Case(_latent, (KEYS,), **ITSELF),
    "multi_step": Case(MultiStepAttention, (QUERY, WIDE_KEYS), scores=True, memory=True),
    "multi_step_key": Case(MultiStepAttention, (QUERY, WIDE_KEYS, KEYS, (2, 3, 5)), scores=True),
    "multi_step_self": Case(MultiStepAttention, (KEYS,), arguments=CAUSAL, **ITSELF),
    "hybrid": Case(
        lambda **k: HybridAttention(MultiplicativeAttention(), 7, 3, 0.2, 0.9, **k),
        (QUERY, WIDE_KEYS, (2, 11)),
        integers=((2, 7),),
        scores=True,
    ),
    "copy_mixture": Case(
        lambda **k: CopyMixture(MultiplicativeAttention(), 0.5, 3, **k),
        (QUERY, WIDE_KEYS, (2, 3, 13), (2, 11), (2, 3, 11)),
        integers=((3, 13), (4, 4)),
        scores=True,
    ),
    "relation_bias": Case(
        lambda **k: RelationBias(7, 3, "he_normal", **k), ((2, 5, 11),), integers=((0, 7),)
    ),
    "field_positions": Case(
        lambda **k: FieldPositions(7, 5, "he_normal", **k),
        (KEYS, (2, 11), (2, 11), (2, 11)),
        integers=((1, 7), (2, 7), (3, 7)),
    ),
    "attention_pooling": Case(
        lambda **k: AttentionPooling(AdditiveAttention(7), "he_normal", **k), (KEYS,), scores=True
    ),
    "perceiver_resampler": Case(_resampler, (KEYS,), scores=True),
    "masked_convolution": Case(
        lambda **k: MaskedConvolution(5, 3, "gelu", **k), (KEYS,), sequence=True
    ),
    "recurrent_encoder": Case(
        lambda **k: RecurrentEncoder(RecurrentConfig(13, hidden_dim=3, num_encoder_layers=2), **k),
        (KEYS,),
    ),
    "neural_turing_machine": Case(
        lambda **k: MemoryRNN(NTMCell(keras.layers.LSTMCell(3), 7, 11, 5, 2, 3, 2), **k),
        (KEYS,),
        scores=True,
        sequence=True,
    ),
    "feed_forward_turing_machine": Case(
        lambda **k: MemoryRNN(NTMCell(keras.layers.Dense(3, "tanh"), 7, 11, 5), **k), (KEYS,)
    ),
    "neural_computer": Case(  # Of more slots, some would be equally free up to rounding.
        lambda **k: MemoryRNN(DNCCell(keras.layers.LSTMCell(3), 7, 2, 5, 3), **k),
        (KEYS,),
        scores=True,
        sequence=True,
    ),
    "sparse_neural_computer": Case(
        lambda **k: MemoryRNN(DNCCell(keras.layers.LSTMCell(3), 7, 11, 5, 2, 3), **k), (KEYS,)
    ),
    "sinusoidal_positions": Case(
        lambda **k: SinusoidalPositions("concatenate", 3, 700.0, 2, **k), (KEYS,), sequence=True
    ),
    "learned_positions": Case(
        lambda **k: LearnedPositions(17, "concatenate", 3, "he_normal", **k),
        ((2, 17, 5),),
        sequence=True,
    ),
    "patch_encoder": Case(
        lambda **k: PatchEncoder(3, 7, False, "he_normal", **k), ((2, 15, 33, 5),)
    ),
    "grid_positions": Case(
        lambda **k: GridPositions(3, 5, "he_normal", True, **k), ((2, 7, 11, 13),)
    ),
    "next_source": Case(lambda **k: NextSource(5, 3, **k), ((2, 13), KEYS), integers=((0, 7),)),
    "feed_forward": Case(
        lambda **k: FeedForward(7, 0.2, "gelu", "lecun_normal", True, False, **k),
        (KEYS,),
        sequence=True,
    ),
    "weight_normalized_dense": Case(
        lambda **k: WeightNormalizedDense(7, False, "he_normal", **k), (KEYS,), sequence=True
    ),
    "gated_convolution": Case(
        lambda **k: GatedConvolution(7, 3, "same", 0.2, "he_normal", **k), (KEYS,), sequence=True
    ),
    "causal_convolution": Case(
        lambda **k: GatedConvolution(7, 2, "causal", 0.2, "he_normal", **k), (KEYS,), sequence=True
    ),
    "sentence_encoder": Case(
        lambda **k: SentenceEncoder(13, 5, "bag", "he_normal", **k),
        ((2, 7, 3),),
        integers=((0, 13),),
    ),
    "memory_bank": Case(lambda **k: MemoryBank((3, 5), 7, "he_normal", **k), (KEYS,), scores=True),
    "memory_network": Case(_memory, **QUESTION_AND_STORY, scores=True),
    "scaled_embedding": Case(
        lambda **k: ScaledEmbedding(13, 5, True, **k), ((2, 11),), integers=((0, 13),)
    ),
    "ngram_embedding": Case(
        lambda **k: NGramEmbedding(17, 5, 3, "he_normal", True, **k),
        ((2, 11),),
        integers=((0, 13),),
    ),
    "rotary_positions": Case(
        lambda **k: RotaryPositions(100.0, 4, True, SCALING, **k), ((2, 3, 11, 5),)
    ),
    "alibi_bias": Case(
        lambda **k: AlibiBias(3, **k), ((2, 5), (2, 7)), integers=((0, 13), (1, 13))
    ),
    "relative_bias": Case(
        lambda **k: RelativeBias(3, 8, 11, False, "he_normal", **k),
        ((2, 5), (2, 7)),
        integers=((0, 13), (1, 13)),
    ),
    "encoder_block": Case(lambda **k: _block(TransformerEncoderBlock, **k), (KEYS,), **ITSELF),
    "rotary_encoder_block": Case(
        lambda **k: _rotary_block(TransformerEncoderBlock, **k), (KEYS,), **ITSELF
    ),
    "decoder_block": Case(
        lambda **k: _block(TransformerDecoderBlock, **k),
        (QUERY, WIDE_KEYS),
        scores=True,
        memory=True,
    ),
    "rotary_decoder_block": Case(
        lambda **k: _rotary_block(TransformerDecoderBlock, **k),
        (QUERY, WIDE_KEYS),
        scores=True,
        memory=True,
    ),
    "caption_decoder": Case(
        lambda **k: _decoder(SoftAttention(5), **k), DECODER_INPUTS, integers=((1, 13),)
    ),
    "gru_decoder": Case(
        lambda **k: _decoder(SoftAttention(5), ContextGRUCell(7, dtype=k.get("dtype")), **k),
        DECODER_INPUTS,
        integers=((1, 13),),
    ),
    "bottleneck_decoder": Case(
        lambda **k: _decoder(BottleneckContext(), **k), DECODER_INPUTS, integers=((1, 13),)
    ),
    "mean_decoder": Case(
        lambda **k: _decoder(MeanContext(), **k), DECODER_INPUTS, integers=((1, 13),)
    ),
    "hard_decoder": Case(
        lambda **k: _decoder(HardAttention(5, LocationSampler(0.3, 0.7, 0.2, 0.8, 11, 3)), **k),
        DECODER_INPUTS,
        integers=((1, 13),),
        sampled=("/attention/",),
    ),
    "transformer_encoder": Case(
        lambda **k: TransformerEncoder(TRANSFORMER, **k), (KEYS,), scores=True
    ),
    "sinusoidal_encoder": Case(
        lambda **k: TransformerEncoder(replace(TRANSFORMER, positions="sinusoidal"), **k),
        (KEYS,),
        **ITSELF,
    ),
    "rotary_encoder": Case(lambda **k: TransformerEncoder(ROTARY, **k), (KEYS,), **ITSELF),
    "relative_decoder": Case(
        lambda **k: TransformerDecoder(RELATIVE, 0, NextSource(5, 5, dtype=k.get("dtype")), **k),
        ((2, 11), KEYS),
        integers=((0, 13),),
        scores=True,
    ),
    "transformer_decoder": Case(
        lambda **k: TransformerDecoder(
            TRANSFORMER, 0, NextSource(5, TRANSFORMER.hidden_dim, dtype=k.get("dtype")), **k
        ),
        ((2, 11), KEYS),
        integers=((0, 17),),
        scores=True,
    ),
    "fact_encoder": Case(
        lambda **k: FactEncoder(TRANSFORMER, 3, **k),
        (KEYS, (2, 11, 7)),
        integers=((1, 4),),
        scores=True,
    ),
    "planning_decoder": Case(
        lambda **k: PlanningDecoder(FACTS, *_planning(k.get("dtype")), **k),
        ((2, 7), KEYS, (2, 11, 7)),
        integers=((0, 13), (2, 4)),
        scores=True,
    ),
    "conv_encoder": Case(lambda **k: ConvSeq2SeqEncoder(CONVOLUTIONS, **k), (KEYS,)),
    "conv_decoder": Case(
        lambda **k: ConvSeq2SeqDecoder(CONVOLUTIONS, 0, **k),
        ((2, 11), KEYS, KEYS),
        integers=((0, 17),),
        scores=True,
    ),
    "transformer_caption_decoder": Case(
        lambda **k: TransformerCaptionDecoder(CAPTION_TRANSFORMER, 1, 0, **k),
        DECODER_INPUTS,
        integers=((1, 13),),
    ),
    "spatial_transformer": Case(_spatial_transformer, ((2, 3, 11, 13),)),
    "small_conv": Case(
        lambda **k: SmallConvEncoder((3, 5), (2, 3), 5, False, **k), ((2, 11, 13, 3),)
    ),
    "vision_transformer": Case(lambda **k: VisionTransformer(VISION, **k), ((2, 14, 22, 3),)),
    "vision_sequence": Case(
        lambda **k: VisionSequence(VisionTransformer(VISION, **k), **k), ((2, 6, 10, 3),)
    ),
    "multi_head_pooling": Case(
        lambda **k: MultiHeadPooling(2, 7, "relu", 1e-4, **k), ((2, 11, 6),)
    ),
    "grid_rotary_positions": Case(
        lambda **k: GridRotaryPositions(3, 5, 2, 10.0, **k), ((2, 3, 17, 4),)
    ),
    "encoder_vector": Case(
        lambda **k: EncoderVector(
            SmallConvEncoder((3, 5), (2, 3), coordinates=False, **k), 2.0, **k
        ),
        ((2, 11, 13, 3),),
    ),
    "image_classifier": Case(
        lambda **k: ImageClassifier(VisionTransformer(VISION), 7, "he_normal", **k),
        ((2, 6, 10, 3),),
    ),
    "text_encoder": Case(
        lambda **k: TextEncoder(CAPTION_TRANSFORMER, **k),
        ((2, 11),),
        integers=((0, 13),),
        scores=True,
    ),
    "text_classifier": Case(_text_classifier, ((2, 11),), integers=((0, 13),)),
    "progressive_language_model": Case(
        lambda **k: ProgressiveLanguageModel(13, (3, 5), 7, 11, 2, 0.2, **k),
        ((2, 11),),
        integers=((0, 13),),
    ),
    "familiarity": Case(_familiarity, ((2, 11, 7),)),
    "spatial_softmax": Case(SpatialSoftmax, ((2, 7, 11, 3),)),
    "spatial_transformer_classifier": Case(_spatial_transformer_classifier, ((2, 7, 11, 3),)),
}
if importlib.util.find_spec("keras_hub"):
    CASES["keras_hub_encoder"] = Case(_hub_encoder, ((2, 15, 20, 3),))
SEQUENCES = {name: case for name, case in CASES.items() if case.sequence}

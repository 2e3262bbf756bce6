"""Models and their parts. Importing the package registers their classes for loading."""

from keras_attn.models.captioner.caption_decoder import CaptionDecoder, CaptionDecoderConfig
from keras_attn.models.captioner.captioner import Captioner
from keras_attn.models.captioner.familiarity import Familiarity
from keras_attn.models.captioner.fixed_contexts import BottleneckContext, MeanContext
from keras_attn.models.captioner.hard_attention import HardAttention
from keras_attn.models.captioner.soft_attention import SoftAttention
from keras_attn.models.captioner.transformer_caption_decoder import TransformerCaptionDecoder
from keras_attn.models.conv_seq2seq.conv_seq2seq import ConvSeq2Seq
from keras_attn.models.conv_seq2seq.conv_seq2seq_config import (
    CONV_SEQ2SEQ_PRESETS,
    ConvSeq2SeqConfig,
)
from keras_attn.models.conv_seq2seq.conv_seq2seq_decoder import ConvSeq2SeqDecoder
from keras_attn.models.conv_seq2seq.conv_seq2seq_encoder import ConvSeq2SeqEncoder
from keras_attn.models.data_to_text.data_to_text import DataToText
from keras_attn.models.data_to_text.fact_encoder import FactEncoder, FactTokens
from keras_attn.models.data_to_text.planning_decoder import PlanningDecoder
from keras_attn.models.dual_encoder.dual_encoder import DualEncoder
from keras_attn.models.dual_encoder.text_encoder import TextEncoder
from keras_attn.models.ensemble import Ensemble
from keras_attn.models.image_encoders.applications_encoder import ApplicationsEncoder
from keras_attn.models.image_encoders.efficientnet_lite0_encoder import EfficientNetLite0Encoder
from keras_attn.models.image_encoders.efficientnet_lite2_encoder import EfficientNetLite2Encoder
from keras_attn.models.image_encoders.encoder_vector import EncoderVector
from keras_attn.models.image_encoders.keras_hub_encoder import KerasHubEncoder
from keras_attn.models.image_encoders.small_conv_encoder import SmallConvEncoder
from keras_attn.models.memory.progressive_language_model import ProgressiveLanguageModel
from keras_attn.models.memory.question_answerer import QuestionAnswerer
from keras_attn.models.memory.story_reader import StoryReader
from keras_attn.models.parser.parser import Parser
from keras_attn.models.recurrent.recurrent_config import RecurrentConfig
from keras_attn.models.recurrent.recurrent_decoder import RecurrentDecoder
from keras_attn.models.recurrent.recurrent_encoder import RecurrentEncoder
from keras_attn.models.recurrent.recurrent_seq2seq import RecurrentSeq2Seq
from keras_attn.models.spatial_transformer.spatial_transformer_classifier import (
    SpatialTransformerClassifier,
)
from keras_attn.models.text_classifier.text_classifier import TextClassifier
from keras_attn.models.transformer.transformer import Transformer
from keras_attn.models.transformer.transformer_config import PRESETS, TransformerConfig
from keras_attn.models.transformer.transformer_decoder import TransformerDecoder
from keras_attn.models.transformer.transformer_encoder import TransformerEncoder
from keras_attn.models.vision_transformer.image_classifier import ImageClassifier
from keras_attn.models.vision_transformer.vision_sequence import VisionSequence
from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer
from keras_attn.models.vision_transformer.vision_transformer_config import (
    VIT_PRESETS,
    VisionTransformerConfig,
)
from keras_attn.public_names import public_names

__all__ = public_names(globals())

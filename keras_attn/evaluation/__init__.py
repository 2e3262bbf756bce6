"""Metrics of the field."""

from keras_attn.evaluation.brackets import (
    BracketReport,
    SentenceBrackets,
    compare_brackets,
)
from keras_attn.evaluation.caption_metrics import caption_metrics
from keras_attn.evaluation.cider import ConsensusReward
from keras_attn.evaluation.clip_score import CLIP_PROMPT, clip_score, ref_clip_score
from keras_attn.evaluation.fact_metrics import fact_metrics, mentioned_order
from keras_attn.evaluation.pointing import pointing_accuracy, points_at
from keras_attn.evaluation.right_branching import RightBranching
from keras_attn.evaluation.text_metrics import text_metrics, text_signatures
from keras_attn.evaluation.tokenization import caption_tokenization, text_tokenization
from keras_attn.public_names import public_names

__all__ = public_names(globals())

"""Decoding: one loop, any strategy, any stepper, any constraints."""

from keras_attn.contracts import DEAD
from keras_attn.decoding.allowed_tokens import AllowedTokens
from keras_attn.decoding.beam import Beam
from keras_attn.decoding.candidates import Candidates
from keras_attn.decoding.constraints import (
    Constraint,
    FirstToken,
    ForbiddenTokens,
    MinimumLength,
    NoRepeatedNgrams,
    forbid,
)
from keras_attn.decoding.exhaustive import Exhaustive
from keras_attn.decoding.greedy import Greedy
from keras_attn.decoding.hub_attention import HubAttention, hub_attention
from keras_attn.decoding.hub_sampler import HubAnswers, HubSampler
from keras_attn.decoding.length_penalty import length_penalty
from keras_attn.decoding.loop import Strategy, decode
from keras_attn.decoding.maximum_length import MaximumLength
from keras_attn.decoding.rank_by_coverage import rank_by_coverage
from keras_attn.decoding.sampling import Sampling
from keras_attn.decoding.well_formed_tree import WellFormedTree
from keras_attn.public_names import public_names

__all__ = public_names(globals())

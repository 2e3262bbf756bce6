"""Decoding: one loop, any strategy, any stepper."""

from keras_attn.decoding.beam import Beam, length_penalty
from keras_attn.decoding.greedy import Greedy
from keras_attn.decoding.loop import decode

__all__ = ["Beam", "Greedy", "decode", "length_penalty"]

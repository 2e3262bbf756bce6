"""What the numbers of a view are, and the scale of their colors."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """What the numbers of a view are, as pictures and pages say it.

    Attributes:
        unit: label of the color scale.
        meaning: a sentence: what the numbers say and what they do not.
        signed: whether there are numbers below 0; they have a color of their own.
    """

    unit: str
    meaning: str
    signed: bool = False


EACH, ALL = "each", "all"
"""Scales of colors: up to the largest number of each word, or of all words."""
ATTENTION = Quantity(
    "attention",
    "Attention: where the model read from, which need not be what decided the answer.",
)
FALL = Quantity(
    "drop in log p, nats",
    "How much log p, the log-probability of the answer, drops without one part of the input.",
    signed=True,
)
SHARE = Quantity("share of the word in the text's vector", ATTENTION.meaning)
CONTRIBUTION = Quantity(
    "contribution to the label's logit, minus the mean over labels",
    "How much each word, with the context from the encoder, raises or lowers the label's logit.",
    signed=True,
)
MEMORY = Quantity("weight", "How much of each slot of the memory each head wrote or read.")
POINTS = Quantity("", "The points of the picture that were read, and what the classifier saw.")
SIGNED_COLORS = "RdBu"
"""Red below 0, blue above."""

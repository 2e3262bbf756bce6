"""Options of training an aligner, with their ranges."""

from dataclasses import dataclass

from keras_attn.alignment.hmm import JumpDistortion
from keras_attn.alignment.model1 import UniformDistortion
from keras_attn.alignment.model2 import PositionDistortion

MODELS = {"model1": UniformDistortion, "model2": PositionDistortion, "hmm": JumpDistortion}
"""Distortions by the name of the model."""


@dataclass(frozen=True)
class AlignerOptions:
    """Options of training an aligner.

    Attributes:
        model: "model1", "model2" or "hmm".
        first_iterations: int ≥ 0. Iterations of Model 1, from which the other models start.
        iterations: int ≥ 0. Iterations of the model itself.
        agreement: bool. Whether both directions are trained to agree, after the iterations of
            Model 1: expected links are those of one direction times those of the other. The
            likelihood of a direction may fall then.
        null_probability: float in (0, 1). Probability of a link to NULL, for the HMM.
        stem_weight: float ≥ 0. Counts that a pair of words gets from words with the same first
            letters. 0: none.
        stem_length: int ≥ 1. How many letters.
        spelling_weight: float ≥ 0. Counts that a pair of words gets for being spelled alike, see
            `Spelling`. 0: none.
        variational: float ≥ 0. Concentration of a Dirichlet prior on the model's lexical table and
            distortion (mean-field variational Bayes), after the iterations of Model 1. 0: maximum
            likelihood.

    Raises:
        ValueError: out of range ("Expected null_probability > 0 and < 1. Received:
            null_probability=1.0").

    Example:
        >>> AlignerOptions(model="model1", first_iterations=0, iterations=10).agreement
        True
    """

    model: str = "hmm"
    first_iterations: int = 5
    iterations: int = 5
    agreement: bool = True
    null_probability: float = 0.15
    stem_weight: float = 12.0
    stem_length: int = 4
    spelling_weight: float = 5.0
    variational: float = 0.0

    def __post_init__(self):
        _expect(self.model in MODELS, f"a model of {', '.join(MODELS)}", "model", self.model)
        for name, least in (
            ("first_iterations", 0),
            ("iterations", 0),
            ("stem_weight", 0),
            ("stem_length", 1),
            ("spelling_weight", 0),
            ("variational", 0),
        ):
            value = getattr(self, name)
            _expect(least <= value < float("inf"), f"{name} >= {least}", name, value)
            if not isinstance(getattr(AlignerOptions, name), float):
                _expect(value == int(value), f"a whole number for {name}", name, value)
        probability = self.null_probability
        fits = 0 < probability < 1
        _expect(fits, "null_probability > 0 and < 1", "null_probability", probability)


def _expect(holds, what, name, value):
    if not holds:
        raise ValueError(f"Expected {what}. Received: {name}={value}")

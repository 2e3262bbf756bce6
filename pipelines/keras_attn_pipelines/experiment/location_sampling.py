"""How hard attention learns where to look."""

from keras_attn_pipelines.experiment.fields import INFINITY, option, part

HARD = {"hard": True, "context": "hard"}
"""Fields that ask for hard attention, of translators and of captioners."""


@part
class LocationSampling:
    """The estimator of hard attention's gradient; see `LocationSampler`."""

    samples: int = option(
        "hard attention: sequences of locations drawn for each example; several are each other's "
        "baseline, and training the decoder costs as many times as much",
        default=1,
        inherited=True,
        needs=HARD,
        least=1,
    )
    gumbel_temperature: float = option(
        "hard attention: temperature of the straight-through Gumbel-softmax, in place of "
        "REINFORCE; 0: REINFORCE",
        default=0.0,
        inherited=True,
        needs=HARD,
        least=0,
        below=INFINITY,
    )
    expectation_share: float = option(
        "hard attention: share of the examples that use the expectation instead of a sample",
        default=0.5,
        inherited=True,
        needs=HARD,
        least=0,
        most=1,
    )
    reward_weight: float = option(
        "hard attention: weight of REINFORCE",
        default=0.1,
        inherited=True,
        needs=(HARD, {"gumbel_temperature": False}),
        least=0,
        below=INFINITY,
    )
    entropy_weight: float = option(
        "hard attention: weight of the entropy bonus, which keeps the attention from collapsing",
        default=0.002,
        inherited=True,
        needs=HARD,
        least=0,
        below=INFINITY,
    )

    def check(self):
        """Raises ValueError for several samples with a temperature."""
        if self.samples > 1 and self.gumbel_temperature:
            raise ValueError(
                "Expected one sample with a gumbel_temperature: several are for REINFORCE. "
                f"Received: samples={self.samples}, gumbel_temperature={self.gumbel_temperature:g}"
            )

    def build(self, seed: int):
        """A `LocationSampler`."""
        from keras_attn.layers import LocationSampler

        return LocationSampler(
            expectation_share=self.expectation_share,
            reward_weight=self.reward_weight,
            entropy_weight=self.entropy_weight,
            seed=seed,
            samples=self.samples,
            gumbel_temperature=self.gumbel_temperature or None,
        )

"""The objective of models that predict tokens."""

from collections.abc import Sequence

from keras_attn.training.gold_shares import LinearShare
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.regularized_dropout import RegularizedDropout
from keras_attn.training.scheduled_sampling import ScheduledSampling
from keras_attn.training.token_accuracy import TokenAccuracy
from keras_attn_pipelines.experiment.parts import Objective


def token_objective(
    model,
    label_smoothing: float,
    scheduled_sampling_rate: float,
    steps: int,
    seed: int,
    outputs: Sequence[str] = (),
    r_drop: float = 0.0,
) -> Objective:
    """Cross-entropy of the next token, in nats per token; optionally scheduled sampling or R-Drop.

    Args:
        model: built Keras model.
        label_smoothing: probability spread over the vocabulary.
        scheduled_sampling_rate: share of decoder inputs sampled from the model at the end of
            training; it grows linearly from 0.
        steps: total training steps.
        seed: seed of the sampling.
        outputs: names of the outputs with targets, if there are several; their losses are summed.
        r_drop: weight of `RegularizedDropout`; 0 for one pass. Not with scheduled sampling.
    """
    if scheduled_sampling_rate:
        share = LinearShare(
            slope=scheduled_sampling_rate / steps, floor=1 - scheduled_sampling_rate
        )
        model = ScheduledSampling(model, share, seed=seed)
    if r_drop:
        model = RegularizedDropout(model, r_drop)
    if not outputs:
        return Objective(model, TokenCrossEntropy(label_smoothing), [TokenAccuracy()])
    return Objective(
        model,
        {name: TokenCrossEntropy(label_smoothing) for name in outputs},
        {name: [TokenAccuracy()] for name in outputs},
    )

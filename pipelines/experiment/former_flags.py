"""Flags of earlier versions, for the message that refuses them."""

FORMER_FLAGS = {
    "deepest": "max_depth",
    "encoder_rate": "slow_rate",
    "fine_tune_from": "unfreeze_step",
    "longest_chain": "max_unary_chain",
    "own_words": "scheduled_sampling_rate",
    "transformer_rate": "slow_rate",
}

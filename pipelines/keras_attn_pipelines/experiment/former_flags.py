"""Renamed flags, for the error that gives the new names."""

FORMER_FLAGS = {
    "deepest": "max_depth",
    "encoder_rate": "slow_rate",
    "fine_tune_from": "unfreeze_step",
    "longest_chain": "max_unary_chain",
    "own_words": "scheduled_sampling_rate",
    "transformer_rate": "slow_rate",
}

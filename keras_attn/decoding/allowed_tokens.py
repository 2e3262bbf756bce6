"""The tokens that each example's answer may have."""

from typing import Any

from keras import ops

from keras_attn.decoding.constraints import forbid


class AllowedTokens:
    """Forbids tokens that an example does not allow: a `Constraint`.

    Args:
        allowed: bool (B, V). True = the example's answer may have the token.
    """

    def __init__(self, allowed: Any):
        self.allowed = ops.convert_to_tensor(allowed, "bool")

    def start(self, batch, vocabulary, length):
        """What is allowed, bool (B, V)."""
        return self.allowed

    def mask(self, log_probabilities, state):
        """Forbids all others."""
        return forbid(log_probabilities, ops.logical_not(state))

    def update(self, state, tokens):
        """The same for every token."""
        return state

"""Slow twins of the decoding strategies, on a toy stepper whose state is its whole prefix."""

import math

import numpy as np
from keras import ops

from keras_attn.contracts import END_ID, PAD_ID, START_ID, StepResult
from keras_attn.ops.hypotheses import gather_hypotheses, prefill_by_steps, repeat_hypotheses


class TableStepper:
    """Logits drawn from a hash of the context and the last two tokens; weights likewise.

    Args:
        vocabulary: int. V.
        locations: int. S.
        seed: int.
    """

    def __init__(self, vocabulary, locations, seed, end_bonus=0.0):
        random = np.random.default_rng(seed)
        shape = (2, vocabulary, vocabulary)
        self.logits = random.normal(size=(*shape, vocabulary)).astype("float32") * 2
        self.logits[..., END_ID] += end_bonus
        weights = random.random(size=(*shape, locations)).astype("float32")
        self.weights = weights / weights.sum(-1, keepdims=True)

    def start(self, context, length):
        context = ops.convert_to_tensor(context)
        return context, {"previous": ops.full_like(context, START_ID)}

    def step(self, tokens, memory, state):
        width = ops.shape(tokens)[0] // ops.shape(memory)[0]
        example = ops.repeat(memory, width, axis=0)
        index = (example, state["previous"], tokens)
        flat = (index[0] * self.logits.shape[1] + index[1]) * self.logits.shape[2] + index[2]

        def look_up(table):
            table = ops.convert_to_tensor(table.reshape(-1, table.shape[-1]))
            return ops.take(table, flat, axis=0)

        return StepResult(look_up(self.logits), {"previous": tokens}, look_up(self.weights))

    def prefill(self, prefix, memory, state):
        prefix = ops.convert_to_tensor(prefix)
        return prefill_by_steps(self.step, prefix, prefix != PAD_ID, memory, state)

    def widen(self, state, width):
        return repeat_hypotheses(state, width)

    def reorder(self, state, parents):
        return gather_hypotheses(state, parents)

    def log_probabilities(self, example, prefix):
        """float64 (V,) after the prefix (START_ID first), forbidden tokens at −inf."""
        before = prefix[-2] if len(prefix) > 1 else START_ID
        logits = self.logits[example, before, prefix[-1]].astype("float64")
        result = logits - np.log(np.sum(np.exp(logits)))
        result[[PAD_ID, START_ID]] = -np.inf
        return result

    def weight_rows(self, example, tokens):
        """float32 (T, S): the weights with which each of `tokens` was produced."""
        prefix = [START_ID, START_ID, *tokens]
        return np.stack(
            [self.weights[example, prefix[t], prefix[t + 1]] for t in range(len(tokens))]
        )


def greedy(stepper, example, length):
    """(tokens, score) of greedy decoding."""
    prefix, score = [START_ID], 0.0
    while len(prefix) <= length and prefix[-1] != END_ID:
        row = stepper.log_probabilities(example, prefix)
        prefix.append(int(np.argmax(row)))
        score += row[prefix[-1]]
    return prefix[1:], score


def penalty(length, alpha):
    """GNMT's length penalty."""
    return ((5 + length) / 6) ** alpha


def exhaustive(stepper, example, length, alpha):
    """All hypotheses as (penalized score, tokens), finished before cut-off, best first."""
    finished, cut_off, stack = [], [], [([START_ID], 0.0)]
    while stack:
        prefix, score = stack.pop()
        tokens = prefix[1:]
        if tokens and tokens[-1] == END_ID:
            finished.append((score / penalty(len(tokens), alpha), tokens))
        elif len(tokens) == length:
            cut_off.append((score / penalty(length, alpha), tokens))
        else:
            row = stepper.log_probabilities(example, prefix)
            stack += [
                ([*prefix, token], score + value)
                for token, value in enumerate(row)
                if math.isfinite(value)
            ]
    return sorted(finished, reverse=True) + sorted(cut_off, reverse=True)


def beam(stepper, example, length, width, alpha):
    """The rule of `Beam` with lists: (penalized score, tokens), best first, without early stop."""
    alive, finished = [([START_ID], 0.0)], []
    for _ in range(length):
        if len(finished) >= width:
            break
        candidates = [
            ([*prefix, token], score + value)
            for prefix, score in alive
            for token, value in enumerate(stepper.log_probabilities(example, prefix))
            if math.isfinite(value)
        ]
        candidates.sort(key=lambda one: -one[1])
        finished += [c for c in candidates[:width] if c[0][-1] == END_ID]
        alive = [c for c in candidates[: 2 * width] if c[0][-1] != END_ID][:width]

    def ranked(hypotheses):
        scored = [(score / penalty(len(p) - 1, alpha), p[1:]) for p, score in hypotheses]
        return sorted(scored, reverse=True)

    return ranked(finished)[:width] + ranked(alive)

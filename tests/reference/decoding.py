"""Slow twins of the decoding strategies, on a toy stepper whose state is its whole prefix."""

import itertools
import math

import numpy as np
from keras import ops

from keras_attn.contracts import END_ID, PAD_ID, START_ID, StepResult
from keras_attn.ops.hypotheses import gather_hypotheses, prefill_by_steps, repeat_hypotheses

KINDS = 7


class TableStepper:
    """Logits drawn from a table by the context and the last two tokens (mod 7); weights likewise.

    Args:
        vocabulary: int. V.
        locations: int. S.
        seed: int.
    """

    def __init__(self, vocabulary, locations, seed, end_bonus=0.0):
        random = np.random.default_rng(seed)
        self.kinds = min(vocabulary, KINDS)
        shape = (2, self.kinds, self.kinds)
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
        previous, last = state["previous"] % self.kinds, tokens % self.kinds
        flat = (example * self.kinds + previous) * self.kinds + last

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
        logits = self.logits[example, before % self.kinds, prefix[-1] % self.kinds].astype(
            "float64"
        )
        result = logits - np.log(np.sum(np.exp(logits)))
        result[[PAD_ID, START_ID]] = -np.inf
        return result

    def weight_rows(self, example, tokens):
        """float32 (T, S): the weights with which each of `tokens` was produced."""
        prefix = [token % self.kinds for token in (START_ID, START_ID, *tokens)]
        return np.stack([self.weights[example, a, b] for a, b in itertools.pairwise(prefix[:-1])])


class Ruled:
    """A stepper some of whose next tokens are forbidden; where none is left, the end is not.

    Args:
        stepper: `TableStepper`.
        rule: function list of tokens -> forbidden tokens.
    """

    def __init__(self, stepper, rule):
        self.stepper, self.rule = stepper, rule

    def log_probabilities(self, example, prefix):
        result = self.stepper.log_probabilities(example, prefix)
        end = result[END_ID]
        result[list(self.rule(prefix[1:]))] = -np.inf
        if not np.isfinite(result).any():
            result[END_ID] = end
        return result


def greedy(stepper, example, length, forced=()):
    """(tokens, score) of greedy decoding after a forced prefix."""
    prefix, score = [START_ID, *forced], 0.0
    for _ in range(length):
        row = stepper.log_probabilities(example, prefix)
        prefix.append(int(np.argmax(row)))
        score += row[prefix[-1]]
        if prefix[-1] == END_ID:
            break
    return prefix[1:], score


def sample(stepper, example, uniforms, temperature=1.0, top_k=None, top_p=1.0, forced=()):
    """(tokens, score) of a draw: the uniform numbers pick from the sums of the shares."""
    prefix, score = [START_ID, *forced], 0.0
    for uniform in uniforms:
        row = stepper.log_probabilities(example, prefix)
        order = [int(token) for token in np.argsort(-row, kind="stable") if np.isfinite(row[token])]
        order = order[:top_k]
        shares = np.exp(row[order] / temperature)
        shares /= shares.sum()
        before = np.cumsum(shares) - shares
        order = [token for token, start in zip(order, before) if start < top_p]
        if top_k is None and top_p == 1:
            order.sort()
        shares = np.exp(row[order] / temperature)
        sums = np.cumsum(shares / shares.sum())
        prefix.append(order[int(np.sum(sums <= uniform))])
        score += row[prefix[-1]]
        if prefix[-1] == END_ID:
            break
    return prefix[1:], score


def penalty(length, alpha, normalization="gnmt"):
    """GNMT's length penalty, or the power of the length."""
    return (length if normalization == "average" else (5 + length) / 6) ** alpha


def exhaustive(stepper, example, length, alpha, normalization="gnmt", forced=()):
    """All hypotheses as (penalized score, tokens), finished before cut-off, best first."""
    finished, cut_off, stack = [], [], [([START_ID, *forced], 0.0)]
    while stack:
        prefix, score = stack.pop()
        tokens, count = prefix[1:], len(prefix) - 1 - len(forced)
        if count and tokens[-1] == END_ID:
            finished.append((score / penalty(count, alpha, normalization), tokens))
        elif count == length:
            cut_off.append((score / penalty(length, alpha, normalization), tokens))
        else:
            row = stepper.log_probabilities(example, prefix)
            stack += [
                ([*prefix, token], score + value)
                for token, value in enumerate(row)
                if math.isfinite(value)
            ]
    return sorted(finished, reverse=True) + sorted(cut_off, reverse=True)


def beam(stepper, example, length, width, alpha, normalization="gnmt", forced=()):
    """The rule of `Beam` with lists: (penalized score, tokens), best first, without early stop."""
    alive, finished = [([START_ID, *forced], 0.0)], []
    for _ in range(length):
        if len(finished) >= width:
            break
        candidates = [
            ([*prefix, token], score + value)
            for prefix, score in alive
            for token, value in enumerate(stepper.log_probabilities(example, prefix))
            if math.isfinite(value)
        ]
        candidates.sort(key=lambda candidate: -candidate[1])
        finished += [c for c in candidates[:width] if c[0][-1] == END_ID]
        alive = [c for c in candidates[: 2 * width] if c[0][-1] != END_ID][:width]

    def ranked(hypotheses):
        scored = [
            (score / penalty(len(p) - 1 - len(forced), alpha, normalization), p[1:])
            for p, score in hypotheses
        ]
        return sorted(scored, reverse=True)

    return ranked(finished)[:width] + ranked(alive)

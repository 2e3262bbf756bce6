"""Slow twin of the caption decoder and its readers: one caption, one step, float64."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def parameters(decoder):
    """dict from the path inside the decoder ("logits/kernel") to a float64 array."""
    named = {}
    for weight in decoder.weights:
        path = weight.path.split("/")
        path = path[path.index("decoder") + 1 :] if "decoder" in path else path[1:]
        named["/".join(path)] = np.array(weight.value, "float64")
    return named


def names(decoder):
    """The keys of `parameters` that are trainable, in the order of `trainable_weights`."""
    trainable = {id(weight) for weight in decoder.trainable_weights}
    weights = dict(zip(parameters(decoder), decoder.weights))
    return [name for name, weight in weights.items() if id(weight) in trainable]


class Twin:
    """The decoder for one picture's features (S, D).

    Args:
        named: dict of `parameters`.
        context: "soft", "hard" (at given locations), "mean" or "bottleneck".
    """

    def __init__(self, named, features, context="soft"):
        self.named, self.context = named, context
        self.features = features.astype("float64")
        if "feature_projection/kernel" in named:
            self.features = np.tanh(self._dense("feature_projection", self.features))
        mean = self.features.mean(0)
        self.mean = mean
        self.initial = np.tanh(self._dense("initial_state_0", mean))
        self.cell = np.tanh(self._dense("initial_state_1", mean))

    def _dense(self, name, x):
        product = x @ self.named[f"{name}/kernel"]
        return product + self.named.get(f"{name}/bias", 0.0)

    def weights(self, hidden):
        """α (S,)."""
        query, key, vector = (
            self._attention(name) for name in ("query_kernel", "key_kernel", "vector")
        )
        scores = [float(np.tanh(hidden @ query + a @ key) @ vector[:, 0]) for a in self.features]
        exponentials = np.exp(np.array(scores) - max(scores))
        return exponentials / exponentials.sum()

    def _attention(self, name):
        return next(v for k, v in self.named.items() if k.endswith(f"attention/{name}"))

    def read(self, hidden, location):
        """Context and α."""
        if self.context in ("mean", "bottleneck"):
            fixed = self.mean if self.context == "mean" else self.initial
            return fixed, np.full(len(self.features), 1 / len(self.features))
        weights = self.weights(hidden)
        gate_kernel = next(v for k, v in self.named.items() if k.endswith("gate/kernel"))
        gate_bias = next(v for k, v in self.named.items() if k.endswith("gate/bias"))
        gate = sigmoid(hidden @ gate_kernel + gate_bias)
        if location is None or location < 0:
            return gate * sum(w * a for w, a in zip(weights, self.features)), weights
        return gate * self.features[location], weights

    def run(self, tokens, locations=None):
        """logits (T, V) and α (T, S) for decoder input `tokens`."""
        hidden, cell = self.initial, self.cell
        all_logits, all_weights = [], []
        for time, token in enumerate(tokens):
            location = None if locations is None else locations[time]
            context, weights = self.read(hidden, location)
            embedded = self.named["embedding/embeddings"][token]
            gates = self._dense("cell/input_gates", embedded) + self._dense(
                "cell/hidden_gates", hidden
            )
            gates = gates + self._dense("cell/context_gates", context)
            enter, forget, candidate, leave = np.split(gates, 4)
            cell = sigmoid(forget + 1) * cell + sigmoid(enter) * np.tanh(candidate)
            hidden = sigmoid(leave) * np.tanh(cell)
            deep = embedded + self._dense("hidden_output", hidden)
            deep = np.tanh(deep + self._dense("context_output", context))
            all_logits.append(self._dense("logits", deep))
            all_weights.append(weights)
        return np.array(all_logits), np.array(all_weights)


def log_likelihood(logits, targets):
    """Σ_t log p(y_t), nats."""
    total = 0.0
    for row, target in zip(logits, targets):
        total += row[target] - row.max() - np.log(np.exp(row - row.max()).sum())
    return total


def sampled_objective(logits, weights, targets, locations, advantage, reward, entropy):
    """−log p(y|s) − λ_r A log p(s) − λ_e Σ H: what one caption adds; A is a constant."""
    chosen = sum(np.log(a[s]) for a, s in zip(weights, locations) if s >= 0)
    entropies = -sum(float(np.sum(a * np.log(a))) for a in weights)
    likelihood = log_likelihood(logits, targets)
    return -likelihood - reward * advantage * chosen - entropy * entropies

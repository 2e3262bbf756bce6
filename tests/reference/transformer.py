"""Slow twin of the Transformer, written from the paper: one position and one head at a time."""

import math

import numpy as np


def parameters(model):
    """dict from the path inside the model ("encoder/block_0/…") to a float64 array."""
    return {
        weight.path.split("/", 1)[1]: np.array(weight.value, "float64") for weight in model.weights
    }


def sinusoid(position, units):
    """PE(position), a vector."""
    vector = np.zeros(units)
    for column in range(units):
        angle = position / 10000 ** (2 * (column // 2) / units)
        vector[column] = math.sin(angle) if column % 2 == 0 else math.cos(angle)
    return vector


def multi_head(named, queries, values, sees, keys=None):
    """outputs, one a query, and weights (H, T, S); `sees(t, s)` says whether t may look at s.

    Kernels are (D, H, d), that of the output (H, d, O); keys are the values if left out.
    """
    keys = values if keys is None else keys
    _, heads, key_dim = named["query_kernel"].shape
    outputs, weights = [], np.zeros((heads, len(queries), len(keys)))

    def projected(name, x, head):
        bias = named[f"{name}_bias"][head] if f"{name}_bias" in named else 0
        return x @ named[f"{name}_kernel"][:, head] + bias

    for t, x in enumerate(queries):
        output = np.array(named.get("output_bias", np.zeros(named["output_kernel"].shape[-1])))
        for h in range(heads):
            query = projected("query", x, h)
            open_keys = [s for s in range(len(keys)) if sees(t, s)]
            exponentials = {
                s: math.exp(query @ projected("key", keys[s], h) / key_dim**0.5) for s in open_keys
            }
            for s in open_keys:
                weights[h, t, s] = exponentials[s] / sum(exponentials.values())
                context = weights[h, t, s] * projected("value", values[s], h)
                output = output + context @ named["output_kernel"][h]
        outputs.append(output)
    return outputs, weights


class Twin:
    """The whole model for one pair of sentences.

    Args:
        named: dict of `parameters`.
        config: the `TransformerConfig`, of which only numbers and names are read.
    """

    def __init__(self, named, config):
        self.named, self.config = named, config

    def _inside(self, prefix):
        return {k[len(prefix) :]: v for k, v in self.named.items() if k.startswith(prefix)}

    def _norm(self, prefix, x):
        mean = sum(x) / len(x)
        variance = sum((value - mean) ** 2 for value in x) / len(x)
        normal = (x - mean) / math.sqrt(variance + self.config.epsilon)
        norm = self._inside(prefix)
        return normal * norm["gamma"] + norm["beta"]

    def _residual(self, prefix, xs, sublayer):
        """The sublayer maps a list of vectors to a list of vectors and anything else."""
        name = f"{prefix}_residual/normalization/"
        if self.config.normalize_first:
            ys, more = sublayer([self._norm(name, x) for x in xs])
            return [x + y for x, y in zip(xs, ys)], more
        ys, more = sublayer(xs)
        return [self._norm(name, x + y) for x, y in zip(xs, ys)], more

    def _attention(self, prefix, xs, sees, keys=None):
        named = self._inside(f"{prefix}/")
        return self._residual(
            prefix,
            xs,
            lambda q: multi_head(named, q, q if keys is None else keys, sees),
        )

    def _feed_forward(self, prefix, xs):
        named = self._inside(f"{prefix}/")

        def net(vectors):
            outputs = []
            for x in vectors:
                hidden = np.maximum(0, x @ named["hidden_kernel"] + named["hidden_bias"])
                outputs.append(hidden @ named["output_kernel"] + named["output_bias"])
            return outputs, None

        return self._residual(prefix, xs, net)[0]

    def _embed(self, table, stack, tokens):
        units, xs = self.config.hidden_dim, []
        for position, token in enumerate(tokens):
            vector = sinusoid(position, units)
            if self.config.positions == "learned":
                vector = self.named[f"{stack}/positions/table"][position]
            xs.append(math.sqrt(units) * table[token] + vector)
        return xs

    def _end(self, stack, xs):
        if not self.config.normalize_first:
            return xs
        return [self._norm(f"{stack}/last_norm/", x) for x in xs]

    def run(self, source, tokens):
        """logits (T, V), and weights by layer: encoder (H, S, S), decoder (H, T, T), (H, T, S)."""
        target = self.named["decoder/embedding/table"]
        table = self.named.get("source_embedding/table", target)
        keys, weights = self._embed(table, "encoder", source), ([], [], [])
        for n in range(self.config.num_layers):
            prefix = f"encoder/block_{n}"
            keys, heads = self._attention(f"{prefix}/attention", keys, lambda t, s: source[s] != 0)
            keys = self._feed_forward(f"{prefix}/feed_forward", keys)
            weights[0].append(heads)
        keys = self._end("encoder", keys)
        xs = self._embed(target, "decoder", tokens)
        for n in range(self.config.num_layers):
            prefix = f"decoder/block_{n}"
            xs, heads = self._attention(f"{prefix}/attention", xs, lambda t, s: s <= t)
            weights[1].append(heads)
            xs, heads = self._attention(
                f"{prefix}/cross_attention", xs, lambda t, s: source[s] != 0, keys
            )
            weights[2].append(heads)
            xs = self._feed_forward(f"{prefix}/feed_forward", xs)
        output = self.named.get("decoder/output_embedding/table", target)
        return np.array([output @ x for x in self._end("decoder", xs)]), weights

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


def turned(vector, position, arguments):
    """A query or key after rotary positions, one pair at a time; the first `units` features."""
    arguments = {"base": 10000.0, "interleaved": False, "units": len(vector), **(arguments or {})}
    units, result = arguments["units"], np.array(vector)
    for pair in range(units // 2):
        angle = position * arguments["base"] ** (-2 * pair / units)
        places = (2 * pair, 2 * pair + 1)
        if not arguments["interleaved"]:
            places = (pair, pair + units // 2)
        z = complex(*vector[list(places)]) * complex(math.cos(angle), math.sin(angle))
        result[list(places)] = z.real, z.imag
    return result


def slope(head, heads):
    """ALiBi's slope of a head, of H heads; H is a power of two."""
    return 2.0 ** (-8 * (head + 1) / heads)


def bucket(distance, bidirectional, num_buckets, max_distance):
    """T5's bucket of a key `distance` after its query."""
    first = 0
    if bidirectional:
        num_buckets //= 2
        first = num_buckets if distance > 0 else 0
    away = abs(distance) if bidirectional else max(0, -distance)
    exact = num_buckets // 2
    if away < exact:
        return first + away
    share = math.log(away / exact) / math.log(max_distance / exact)
    return first + min(num_buckets - 1, exact + int(share * (num_buckets - exact)))


FUNCTIONS = {"relu": lambda x: max(0.0, x), "silu": lambda x: x / (1 + math.exp(-x))}
FUNCTIONS["gelu"] = lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def normalized(vector, kind, gain):
    """A query or key of a head, of a kind of `query_key_normalization`."""
    if kind == "l2":
        return vector / math.sqrt(sum(value**2 for value in vector))
    mean = sum(vector) / len(vector) if kind == "layer" else 0.0
    square = sum((value - mean) ** 2 for value in vector) / len(vector)
    return np.array([(value - mean) / math.sqrt(square + 1e-6) for value in vector]) * gain


def multi_head(named, queries, values, sees, keys=None, turn=None, bias=None, cap=None, norm=None):
    """outputs, one a query, and weights (H, T, S); `sees(t, s)` says whether t may look at s.

    Kernels are (D, H, d), that of the output (H, d, O); keys are the values if left out. Those of
    keys and values may have fewer heads, each for as many neighboring heads of queries.
    `turn(vector, position)` turns queries and keys, `bias(h, t, s)` is added to the scores, which
    are kept within ±cap before. `norm` is a kind of `normalized`.
    """
    keys = values if keys is None else keys
    _, heads, key_dim = named["query_kernel"].shape
    outputs, weights = [], np.zeros((heads, len(queries), len(keys)))

    def projected(name, x, head):
        kernel = named[f"{name}_kernel"]
        group = head // (heads // kernel.shape[1])
        offset = named[f"{name}_bias"][group] if f"{name}_bias" in named else 0
        return x @ kernel[:, group] + offset

    def score(h, t, s):
        query, key = projected("query", queries[t], h), projected("key", keys[s], h)
        if norm is not None:
            query = normalized(query, norm, named.get("query_gain"))
            key = normalized(key, norm, named.get("key_gain"))
        if turn is not None:
            query, key = turn(query, t), turn(key, s)
        value = query @ key * named.get("score_scale", key_dim**-0.5)
        value = value if cap is None else cap * math.tanh(value / cap)
        return value if bias is None else value + bias(h, t, s)

    for t in range(len(queries)):
        output = np.array(named.get("output_bias", np.zeros(named["output_kernel"].shape[-1])))
        for h in range(heads):
            open_keys = [s for s in range(len(keys)) if sees(t, s)]
            exponentials = {s: math.exp(score(h, t, s)) for s in open_keys}
            total = sum(exponentials.values())
            if "sinks" in named:
                total += math.exp(named["sinks"][h])
            for s in open_keys:
                weights[h, t, s] = exponentials[s] / total
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
        norm = self._inside(prefix)
        if self.config.normalization == "rms":
            square = sum(value**2 for value in x) / len(x)
            return x / math.sqrt(square + self.config.epsilon) * norm["scale"]
        mean = sum(x) / len(x)
        variance = sum((value - mean) ** 2 for value in x) / len(x)
        normal = (x - mean) / math.sqrt(variance + self.config.epsilon)
        return normal * norm["gamma"] + norm["beta"]

    def _block(self, prefix, xs, sublayers):
        """Vectors after a block, and the weights of its attentions.

        Sublayers, by name, map a list of vectors to a list of vectors and weights or None.
        """
        weights, first = [], f"{prefix}/{next(iter(sublayers))}_residual/normalization/"
        same = [self._norm(first, x) for x in xs] if self.config.parallel else None
        for part, sublayer in sublayers.items():
            name = f"{prefix}/{part}_residual/normalization/"
            if self.config.normalize_first:
                ys, heads = sublayer(same or [self._norm(name, x) for x in xs])
                xs = [x + y for x, y in zip(xs, ys)]
            else:
                ys, heads = sublayer(xs)
                xs = [self._norm(name, x + y) for x, y in zip(xs, ys)]
            weights.append(heads)
        return xs, weights

    def _itself(self, stack, n, sees):
        """Self-attention of layer n of a stack."""
        named, config = self._inside(f"{stack}/block_{n}/attention/"), self.config

        def near(t, s):
            window = config.sliding_window
            return sees(t, s) and (window is None or abs(t - s) < window)

        arguments = {"cap": config.soft_cap, "norm": config.query_key_normalization}
        if config.positions == "rotary":
            arguments["turn"] = lambda x, p: turned(x, p, config.position_arguments)
        elif config.positions == "alibi":
            arguments["bias"] = lambda h, t, s: -abs(t - s) * slope(h, config.num_heads)
        elif config.positions == "relative":
            table, sizes = self.named[f"{stack}/relative/table"], config.position_arguments
            both = stack == "encoder"
            arguments["bias"] = lambda h, t, s: table[bucket(s - t, both, **sizes), h]
        return lambda xs: multi_head(named, xs, xs, near, **arguments)

    def _across(self, n, sees, keys):
        named = self._inside(f"decoder/block_{n}/cross_attention/")
        arguments = {"cap": self.config.soft_cap, "norm": self.config.query_key_normalization}
        return lambda xs: multi_head(named, xs, keys, sees, **arguments)

    def _feed_forward(self, prefix):
        named, function = self._inside(f"{prefix}/feed_forward/"), FUNCTIONS[self.config.activation]

        def net(vectors):
            outputs = []
            for x in vectors:
                hidden = x @ named["hidden_kernel"] + named.get("hidden_bias", 0)
                if self.config.gated:
                    gate = x @ named["gate_kernel"] + named.get("gate_bias", 0)
                    hidden = np.array([function(g) * h for g, h in zip(gate, hidden)])
                else:
                    hidden = np.array([function(h) for h in hidden])
                outputs.append(hidden @ named["output_kernel"] + named.get("output_bias", 0))
            return outputs, None

        return net

    def _embed(self, table, stack, tokens):
        units, xs = self.config.hidden_dim, []
        for position, token in enumerate(tokens):
            vector = np.zeros(units)
            if self.config.positions == "sinusoidal":
                vector = sinusoid(position, units)
            elif self.config.positions == "learned":
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
            itself = self._itself("encoder", n, lambda t, s: source[s] != 0)
            sublayers = {"attention": itself, "feed_forward": self._feed_forward(prefix)}
            keys, (heads, _) = self._block(prefix, keys, sublayers)
            weights[0].append(heads)
        keys = self._end("encoder", keys)
        xs = self._embed(target, "decoder", tokens)
        for n in range(self.config.num_layers):
            prefix = f"decoder/block_{n}"
            sublayers = {
                "attention": self._itself("decoder", n, lambda t, s: s <= t),
                "cross_attention": self._across(n, lambda t, s: source[s] != 0, keys),
                "feed_forward": self._feed_forward(prefix),
            }
            xs, (own, cross, _) = self._block(prefix, xs, sublayers)
            weights[1].append(own)
            weights[2].append(cross)
        output = self.named.get("decoder/output_embedding/table", target)
        return np.array([output @ x for x in self._end("decoder", xs)]), weights

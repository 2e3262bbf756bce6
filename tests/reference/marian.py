"""Slow twin of Marian's transformer, written from its source: one sentence, one head at a time.

Names of weights and of options are Marian's. What it forgets is training and whatever our files
have not: factors, average attention, highways, depths of the feed-forward net other than 2.
"""

import math

import numpy as np
import yaml

END, UNKNOWN = 0, 1
CONFIG = "special:model.yml"
FUNCTIONS = {"relu": lambda x: max(0.0, x), "swish": lambda x: x / (1 + math.exp(-x))}


def read(path):
    """Weights, float64 by name, and options of a file.npz; the text of the options ends in a 0."""
    with np.load(path) as arrays:
        text = arrays[CONFIG].astype("uint8").tobytes().rstrip(b"\0").decode()
        named = {name: arrays[name].astype("float64") for name in arrays.files if name != CONFIG}
    return named, yaml.safe_load(text)


def sines(position, units, steps):
    """A position's vector, all sines before all cosines, the slowest of a period 2π · 10000.

    Marian's frequencies have units / 2 − 1 `steps` between the fastest and the slowest. Those that
    transformers gives to converted models have units / 2, so that their slowest is faster.
    """
    half = units // 2
    angles = [position * 10000.0 ** (-place / steps) for place in range(half)]
    return np.array([math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles])


class Twin:
    """The model of a file.npz.

    Args:
        named, options: what `read` gives.
        epsilon: float. Marian's is 1e-6, that of transformers 1e-5.
        steps: int. See `sines`.
        raw_keys: bool. Whether keys and values of self-attention are not normalized before, though
            queries are: so did Marian before it also knew RMS normalization (1.11).
    """

    def __init__(self, named, options, epsilon=1e-6, steps=None, raw_keys=False):
        self.named, self.options, self.epsilon = named, options, epsilon
        self.units = options["dim-emb"]
        self.steps = self.units // 2 - 1 if steps is None else steps
        self.raw_keys = raw_keys

    def _normal(self, x, prefix, suffix=""):
        mean = sum(x) / len(x)
        variance = sum((value - mean) ** 2 for value in x) / len(x)
        normal = (x - mean) / math.sqrt(variance + self.epsilon)
        scale, bias = (self.named[f"{prefix}_ln_{part}{suffix}"][0] for part in ("scale", "bias"))
        return normal * scale + bias

    def _before(self, xs, prefix):
        return [self._normal(x, prefix, "_pre") for x in xs] if self._has("preprocess") else xs

    def _has(self, place):
        """Whether there is a normalization at a place; dropouts do nothing here."""
        return "n" in self.options.get(f"transformer-{place}", "")

    def _after(self, ys, xs, prefix):
        """Outputs of a part plus its inputs, normalized if so asked."""
        sums = [x + y for x, y in zip(xs, ys)]
        return [self._normal(x, prefix) for x in sums] if self._has("postprocess") else sums

    def _top(self, xs, stack):
        return [self._normal(x, f"{stack}_top") for x in xs] if self._has("postprocess-top") else xs

    def _dense(self, x, prefix, suffix):
        return x @ self.named[f"{prefix}_W{suffix}"] + self.named[f"{prefix}_b{suffix}"][0]

    def _attention(self, prefix, xs, memory=None, causal=False):
        """Vectors after an attention, of `memory` or of itself."""
        queries = self._before(xs, f"{prefix}_Wo")
        if memory is None:
            memory = xs if self.raw_keys else queries
        queries = [self._dense(x, prefix, "q") for x in queries]
        keys, values = ([self._dense(x, prefix, name) for x in memory] for name in "kv")
        size = self.units // self.options["transformer-heads"]
        outputs = []
        for place, query in enumerate(queries):
            seen = range(place + 1) if causal else range(len(keys))
            context = np.zeros(self.units)
            for start in range(0, self.units, size):
                head = slice(start, start + size)
                shares = [math.exp(query[head] @ keys[s][head] / math.sqrt(size)) for s in seen]
                for s, share in zip(seen, shares):
                    context[head] += share / sum(shares) * values[s][head]
            outputs.append(self._dense(context, prefix, "o"))
        return self._after(outputs, xs, f"{prefix}_Wo")

    def _feed_forward(self, prefix, xs):
        function, outputs = FUNCTIONS[self.options["transformer-ffn-activation"]], []
        for x in self._before(xs, f"{prefix}_ffn"):
            hidden = np.array([function(value) for value in self._dense(x, prefix, "1")])
            outputs.append(self._dense(hidden, prefix, "2"))
        return self._after(outputs, xs, f"{prefix}_ffn")

    def _embedded(self, ids, stack):
        """Scaled embeddings and positions; None is the start, whose embedding is 0."""
        table = self.named.get(f"{stack}_Wemb", self.named.get("Wemb"))
        rows = [np.zeros(self.units) if index is None else table[index] for index in ids]
        scale = math.sqrt(self.units)
        return [scale * x + sines(at, self.units, self.steps) for at, x in enumerate(rows)]

    def encode(self, ids):
        """The encoder's vectors of source ids, of which the last is the end."""
        xs = self._embedded(ids, "encoder")
        for layer in range(1, self.options["enc-depth"] + 1):
            xs = self._attention(f"encoder_l{layer}_self", xs)
            xs = self._feed_forward(f"encoder_l{layer}_ffn", xs)
        return self._top(xs, "encoder")

    def logits(self, memory, ids):
        """Logits (T + 1, V) after the start and after every one of T target ids."""
        xs = self._embedded([None, *ids], "decoder")
        for layer in range(1, self.options["dec-depth"] + 1):
            xs = self._attention(f"decoder_l{layer}_self", xs, causal=True)
            xs = self._attention(f"decoder_l{layer}_context", xs, memory)
            xs = self._feed_forward(f"decoder_l{layer}_ffn", xs)
        table = self.named.get("decoder_Wemb", self.named.get("Wemb"))
        weight = self.named.get("decoder_ff_logit_out_W", table.T)
        bias = self.named["decoder_ff_logit_out_b"][0]
        return np.array([x @ weight + bias for x in self._top(xs, "decoder")])

    def greedy(self, source, length):
        """Ids, the end included, and the sum of their log-probabilities, of at most `length`.

        What is unknown is never said, as without Marian's --allow-unk, and yet has its share.
        """
        memory, ids, score = self.encode(source), [], 0.0
        while len(ids) < length and END not in ids:
            row = self.logits(memory, ids)[-1]
            row = row - max(row)
            row = row - math.log(sum(math.exp(value) for value in row))
            ids.append(max((i for i in range(len(row)) if i != UNKNOWN), key=lambda i: row[i]))
            score += row[ids[-1]]
        return ids, score

"""What `transformer_speed` lets every contender do: sizes, works and weights.

It needs NumPy alone. The embeddings of padding, unknown, start and end are 0, so that their logits
are and no decoding ends before its last token.
"""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass

import numpy as np

GREEDY, BEAM, SINGLE, TRAIN, SHOW = "greedy", "beam 4", "greedy, batch 1", "training", "show"
DECODING = (GREEDY, BEAM, SINGLE)
SPECIAL = 4


@dataclass(frozen=True)
class Task:
    """Sizes, the Transformer's base model by default.

    Attributes:
        vocabulary, layers, units, hidden, heads: int. Of the model.
        batch, source, target: int. Sentences and tokens when decoding.
        pairs, length: int. Sentence pairs of a training step and tokens of each side.
        cores: int. Threads that a contender may use.
        activation: of the feed-forward layers, "relu" or "silu".
    """

    vocabulary: int = 8000
    layers: int = 6
    units: int = 512
    hidden: int = 2048
    heads: int = 8
    batch: int = 32
    source: int = 20
    target: int = 32
    pairs: int = 64
    length: int = 24
    cores: int = 2
    activation: str = "relu"

    def items(self, work):
        """Target tokens of a work."""
        if work == TRAIN:
            return self.pairs * self.length
        return self.target * (1 if work == SINGLE else self.batch)

    def sources(self):
        """int32 (batch, source)."""
        random = np.random.default_rng(1)
        return random.integers(SPECIAL, self.vocabulary, (self.batch, self.source), "int32")

    def pairs_of_tokens(self):
        """Sources and targets to train on, int32 (pairs, length) each."""
        random = np.random.default_rng(2)
        shape = 2, self.pairs, self.length
        return random.integers(SPECIAL, self.vocabulary, shape, "int32")

    def weights(self):
        """dict from names as in keras-attn's Transformer to float32 arrays."""
        random, units = np.random.default_rng(0), self.units

        def normal(rows, columns, deviation):
            return (deviation * random.standard_normal((rows, columns))).astype("float32")

        table = normal(self.vocabulary, units, units**-0.5)
        table[:SPECIAL] = 0
        arrays = {"decoder/embedding/table": table}
        for stack, parts in (("encoder", 1), ("decoder", 2)):
            for block in (f"{stack}/block_{n}" for n in range(self.layers)):
                attentions = ("attention", "cross_attention")[:parts]
                for name in attentions:
                    for kernel in ("query", "key", "value", "output"):
                        arrays[f"{block}/{name}/{kernel}_kernel"] = normal(
                            units, units, units**-0.5
                        )
                for name, (rows, columns) in {
                    "hidden": (units, self.hidden),
                    "output": (self.hidden, units),
                }.items():
                    prefix = f"{block}/feed_forward/{name}"
                    arrays[f"{prefix}_kernel"] = normal(rows, columns, rows**-0.5)
                    arrays[f"{prefix}_bias"] = normal(1, columns, 0.1)[0]
                for name in (*attentions, "feed_forward"):
                    prefix = f"{block}/{name}_residual/normalization"
                    arrays[f"{prefix}/gamma"] = 1 + normal(1, units, 0.1)[0]
                    arrays[f"{prefix}/beta"] = normal(1, units, 0.1)[0]
        return arrays


def decoding_works(task, tokens, names=(*DECODING, SHOW)):
    """The works of a translator by name.

    Args:
        task: `Task`.
        tokens: function of the number of sentences and the width of the beam to the tokens of each
            sentence.
        names: of the works that the translator has.
    """
    works = {
        GREEDY: lambda: len(tokens(task.batch, 1)[0]),
        BEAM: lambda: len(tokens(task.batch, 4)[0]),
        SINGLE: lambda: len(tokens(1, 1)[0]),
        SHOW: lambda: {
            name: np.asarray(tokens(task.batch, beams)).tolist()
            for name, beams in ((GREEDY, 1), (BEAM, 4))
        },
    }
    return {name: works[name] for name in names}


def in_another_process(module, task, *arguments):
    """Runs a module, such as one that writes files, as `python -m module TASK arguments…`."""
    command = [sys.executable, "-m", module, json.dumps(asdict(task)), *arguments]
    subprocess.run(command, check=True)


def sinusoids(positions, units):
    """float32 (positions, units), sines and cosines interleaved, as the paper has them."""
    angles = np.arange(positions)[:, None] / 10000 ** (np.arange(0, units, 2) / units)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(positions, units)

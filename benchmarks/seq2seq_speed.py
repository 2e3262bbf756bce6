"""How fast recurrent and convolutional translators train and decode, beside torch and Keras.

Run as `python -m benchmarks.seq2seq_speed` in an environment with torch. All models have one or
more layers of width 256 and a vocabulary of 8,000; the recurrent ones read with a bidirectional
LSTM and write with an LSTM. A training step has 128 pairs of 16 + 16 tokens; decoding is greedy, of
32 sentences and of one, from 20 source tokens to 32 target tokens. Each contender is a process of
its own with the same number of threads; a turn does a work with each of them.

- keras-attn: `RecurrentSeq2Seq` with additive attention and input feeding.
- torch: the same equations in plain torch, `nn.LSTM` and `nn.LSTMCell`.
- `keras.layers.LSTM`: the same layers without attention, and with an additive attention of all
  steps at once after the loop, which is what the attention's own products cost; training alone.
- ConvS2S: `ConvSeq2Seq`, 4 + 4 layers. Transformer: 4 + 4 layers, both of keras-attn.

Rates are target tokens a second, medians over the turns; in brackets the median over the turns of
the contender's rate by keras-attn's. Where other programs keep the processors busy, `--threads 1
--processor-time` still compares: seconds are those that a process itself computed.
"""

import functools

from benchmarks.race import OURS, Contender, Race, Results, race_command
from benchmarks.translation_task import GREEDY, SINGLE, TRAIN, Task

DECODE = "decoding"
WORKS = (TRAIN, GREEDY, SINGLE)
TORCH, PLAIN, OUTSIDE = (
    "torch, LSTM with attention",
    "keras.layers.LSTM without attention",
    "keras.layers.LSTM, attention after the loop",
)
SIZES = {"units": 256, "layers": 4, "hidden": 512, "heads": 4, "pairs": 128, "length": 16}


def contenders() -> list[Contender]:
    """All that there are."""
    ours, torch = (f"benchmarks.{name}_seq2seq" for name in ("our", "torch"))

    def both(kind):
        return {DECODE: {"kind": kind}, TRAIN: {"kind": kind, "training": True}}

    def training(kind):
        return {TRAIN: {"kind": kind, "training": True}}

    return [
        Contender(OURS, None, ours, both("recurrent")),
        Contender(TORCH, "torch", torch, both("recurrent")),
        Contender(PLAIN, None, ours, training("plain")),
        Contender(OUTSIDE, None, ours, training("outside")),
        Contender(f"{OURS}, ConvS2S", None, ours, both("convolutional")),
        Contender(f"{OURS}, Transformer", None, ours, both("transformer")),
    ]


def measured(task, options, folder) -> tuple[Race, Results]:
    """The race and its results."""
    race = Race(task, contenders(), options, folder)
    return race, race.run({TRAIN: [TRAIN], DECODE: [GREEDY, SINGLE]})


def compare(task, options, folder) -> str:
    """The table."""
    race, results = measured(task, options, folder)
    return race.table(results, WORKS)


if __name__ == "__main__":
    race_command(__doc__, functools.partial(Task, **SIZES), compare)

"""How fast a translator of Opus-MT's shape answers, beside other software.

Run as `python -m benchmarks.opus_mt_speed --peer-python PYTHON…`, as `transformer_speed`, whose
contenders and works of decoding these are: 6 + 6 layers, width 512, 8 heads, hidden 2,048, swish,
and 58,101 pieces, so that the last product is the largest.
"""

from functools import partial

from benchmarks.race import race_command
from benchmarks.transformer_speed import compare
from benchmarks.translation_task import DECODING, Task

OpusTask = partial(Task, vocabulary=58101, activation="silu")

if __name__ == "__main__":
    race_command(__doc__, OpusTask, compare, works=DECODING)

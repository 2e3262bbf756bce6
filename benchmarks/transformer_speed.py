"""How fast a Transformer of the paper's base shape translates and trains, beside other software.

Run as `python -m benchmarks.transformer_speed --peer-python PYTHON…`, Pythons with transformers and
torch, CTranslate2 or keras-hub; a peer that none of them has is left out. Vocabulary 8,000, greedy
and beam 4 of 32 sentences from 20 source tokens to 32 target tokens, greedy of one sentence, and a
training step of 64 pairs of 24 + 24 tokens with Adam, dropout 0.1. Each contender is a process of
its own with the same number of threads; a turn does a work with each of them. All but keras-hub's
BART have the same weights, and what they say is compared.

Rates are target tokens a second, medians over the turns; in brackets the median over the turns of
the contender's rate by keras-attn's. Memory is the most that the process has held. Where other
programs keep the processors busy, `--threads 1 --processor-time` still compares: seconds are those
that a process itself computed, not those that it waited.
"""

from pathlib import Path

import numpy as np

from benchmarks.race import OURS, Contender, Race, Results, race_command
from benchmarks.translation_task import BEAM, DECODING, GREEDY, SHOW, TRAIN, Task

LOADED = f"{OURS}, SavedModel"
DECODE = "decoding"
WORKS = (*DECODING, TRAIN)


def contenders(folder: Path, weights: str) -> list[Contender]:
    """All that there are, with weights in an .npz; files go to the folder."""
    ours, torch, converted, hub = (
        f"benchmarks.{name}_translator" for name in ("our", "torch", "ctranslate2", "keras_hub")
    )

    def decoding(**more):
        return {DECODE: {"weights": weights, **more}}

    def both(policy):
        trained = {"weights": weights, "policy": policy, "training": True}
        return {**decoding(policy=policy), TRAIN: trained}

    low = "transformers on torch, bfloat16"
    return [
        Contender(OURS, None, ours, both("float32")),
        Contender(LOADED, None, ours, decoding(exported=str(folder / "saved"))),
        Contender("keras-attn, XLA", None, ours, decoding(policy="float32", compiled=True)),
        Contender("keras-attn, int8", None, ours, decoding(products="int8")),
        Contender("keras-attn, bfloat16", None, ours, both("mixed_bfloat16")),
        Contender("transformers on torch", "transformers", torch, both("float32")),
        Contender(low, "transformers", torch, both("bfloat16")),
        *(
            Contender(
                f"CTranslate2, {kind}",
                "ctranslate2",
                converted,
                decoding(kind=kind, folder=str(folder / kind)),
            )
            for kind in ("float32", "int8")
        ),
        Contender("keras-hub's BART", "keras_hub", hub, both("float32")),
    ]


def measured(task, options, folder) -> tuple[Race, Results]:
    """The race and its results; weights are written to the folder."""
    weights = str(Path(folder) / "weights.npz")
    np.savez(weights, **task.weights())
    race = Race(task, contenders(Path(folder), weights), options, folder)
    return race, race.run({DECODE: DECODING, TRAIN: [TRAIN]}, show=SHOW)


def compare(task, options, folder) -> str:
    """The table, and what the contenders agree on."""
    race, results = measured(task, options, folder)
    held = {DECODE: "MiB decoding", TRAIN: "MiB training"}
    return f"{race.table(results, WORKS, held=held)}\n\n{agreement(results.answers)}"


def agreement(said):
    """Lines that say for how many sentences the contenders say what keras-attn does."""
    lines = []
    for name, answers in said.items():
        if name != OURS and OURS in said:
            same = {
                work: np.mean([a == b for a, b in zip(said[OURS][work], answers[work])])
                for work in (GREEDY, BEAM)
            }
            shares = ", ".join(f"{work} {share:.0%}" for work, share in same.items())
            lines.append(f"{name} says what {OURS} does: {shares}")
    return "\n".join(lines)


if __name__ == "__main__":
    race_command(__doc__, Task, compare, works=WORKS)

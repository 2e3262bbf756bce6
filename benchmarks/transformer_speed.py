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

import argparse
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.race import OURS, Contender, Race
from benchmarks.timing import table
from benchmarks.translation_task import BEAM, DECODING, GREEDY, SHOW, TRAIN, Task
from keras_attn.cores import cores

LOADED = f"{OURS}, SavedModel"
DECODE = "decoding"
HEAD = ("what", *DECODING, TRAIN, "MiB decoding", "MiB training")


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


def race_of(task, folder, pythons, **choices) -> Race:
    """The `Race` of a `Task`, whose weights are written to the folder."""
    weights = str(Path(folder) / "weights.npz")
    np.savez(weights, **task.weights())
    return Race(task, folder, contenders(Path(folder), weights), pythons, **choices)


def run(race, repeats, works=(*DECODING, TRAIN)):
    """What `Race.run` returns, of these works."""
    phases = {DECODE: [work for work in works if work != TRAIN], TRAIN: [TRAIN] * (TRAIN in works)}
    return race.run(repeats, phases, show=SHOW)


def shown(race, seconds, memory) -> str:
    """The table."""
    rows = []
    for contender in race.contenders:
        rates = [race.rate(seconds, work, contender.name) for work in (*DECODING, TRAIN)]
        held = (memory.get(phase, {}).get(contender.name) for phase in (DECODE, TRAIN))
        rows.append([contender.name, *rates, *("" if m is None else f"{m:.0f}" for m in held)])
    return table(HEAD, rows)


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


def main(arguments=None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", metavar="PYTHON", nargs="+", default=[], help="for peers")
    parser.add_argument("--repeats", type=int, default=7, help="turns (default: 7)")
    parser.add_argument("--leave-out", metavar="NAME", nargs="+", default=[], help="contenders")
    parser.add_argument(
        "--works", nargs="+", choices=(*DECODING, TRAIN), default=(*DECODING, TRAIN)
    )
    parser.add_argument("--threads", type=int, default=cores(), help="default: all cores")
    parser.add_argument("--processor-time", action="store_true", help="instead of the clock's")
    known = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        race = race_of(
            Task(cores=known.threads),
            folder,
            known.peer_python,
            left_out=known.leave_out,
            processor_time=known.processor_time,
        )
        seconds, memory, said = run(race, known.repeats, known.works)
    clock = "processor time" if known.processor_time else "the clock's time"
    print(f"{known.threads} threads, {known.repeats} turns, {clock}\n")
    print(shown(race, seconds, memory), end="\n\n")
    print(agreement(said))


if __name__ == "__main__":
    main()

"""How fast a ViT-B/16 reads and trains, and a small ViT with a decoder captions, beside others.

Run as `python -m benchmarks.vision_speed --peer-python PYTHON…`, Pythons with transformers and
torch, or keras-hub; a peer that none of them has is left out. The encoder is a ViT-B/16 on 8
pictures of 224×224: a forward pass, and a training step with Adam. The captioner is a ViT-Ti/16
with a pre-norm decoder of 3 layers of width 192, vocabulary 2,600, captions of 16 tokens, beside
transformers' VisionEncoderDecoder of a ViT-Ti and a GPT-2 of the same sizes; a work captions 32
pictures, at once or one after another. Each contender is a process of its own with the same number
of threads and random weights; a turn does a work with each of them.

Rates are pictures or captions a second, medians over the turns; in brackets the median over the
turns of the contender's rate by keras-attn's in float32.
"""

import argparse
import tempfile

from benchmarks.race import OURS, Contender, Race
from benchmarks.timing import table
from benchmarks.vision_task import CAPTIONS, FORWARD, TRAIN, Task
from keras_attn.cores import cores

ENCODE, CAPTION = "encoder", "captioner"
WORKS = (FORWARD, TRAIN, *CAPTIONS)
HEAD = ("what", *WORKS)


def contenders() -> list[Contender]:
    """All that there are."""

    def phases(policy, captions=True):
        encoding = {ENCODE: {"policy": policy, "captions": False}}
        return {**encoding, CAPTION: {"policy": policy, "captions": True}} if captions else encoding

    torch, hub = "transformers on torch", "keras-hub"
    return [
        Contender(OURS, None, "benchmarks.our_vision", phases("float32")),
        Contender(f"{OURS}, bfloat16", None, "benchmarks.our_vision", phases("mixed_bfloat16")),
        Contender(torch, "transformers", "benchmarks.torch_vision", phases("float32")),
        Contender(
            f"{torch}, bfloat16", "transformers", "benchmarks.torch_vision", phases("bfloat16")
        ),
        Contender(hub, "keras_hub", "benchmarks.keras_hub_vision", phases("float32", False)),
        Contender(
            f"{hub}, bfloat16",
            "keras_hub",
            "benchmarks.keras_hub_vision",
            phases("mixed_bfloat16", False),
        ),
    ]


def compare(task, pythons, repeats, works=WORKS, **choices) -> str:
    """The table."""
    phases = {
        ENCODE: [work for work in works if work not in CAPTIONS],
        CAPTION: [work for work in works if work in CAPTIONS],
    }
    with tempfile.TemporaryDirectory() as folder:
        race = Race(task, folder, contenders(), pythons, **choices)
        seconds, _, _ = race.run(repeats, phases)
    rows = [
        [contender.name, *(race.rate(seconds, work, contender.name, digits=1) for work in WORKS)]
        for contender in race.contenders
    ]
    return table(HEAD, rows)


def main(arguments=None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", metavar="PYTHON", nargs="+", default=[], help="for peers")
    parser.add_argument("--repeats", type=int, default=5, help="turns (default: 5)")
    parser.add_argument("--leave-out", metavar="NAME", nargs="+", default=[], help="contenders")
    parser.add_argument("--works", nargs="+", choices=WORKS, default=WORKS)
    parser.add_argument("--threads", type=int, default=cores(), help="default: all cores")
    known = parser.parse_args(arguments)
    task = Task(cores=known.threads)
    markdown = compare(
        task, known.peer_python, known.repeats, known.works, left_out=known.leave_out
    )
    print(f"{known.threads} threads, {known.repeats} turns\n\n{markdown}")


if __name__ == "__main__":
    main()

"""Sets of facts about made-up people with sentences, in the format of the data-to-text task."""

import json
from pathlib import Path

import numpy as np

NAMES = ("Ada_Low", "Ben_Moss", "Cleo_Ray", "Dan_Pike", "Eve_Stone")
TOWNS = ("Arden", "Borough_Hill", "Cove")
SAID = {
    "birthPlace": "was born in {}",
    "birthYear": "came in {}",
    "field": "works on {}",
}
TINY = {
    "vocabulary_size": 320,
    "lengths": (32, 90),
    "source_lengths": (48, 130),
    "max_facts": 5,
    "num_layers": 1,
    "hidden_dim": 14,
    "intermediate_dim": 11,
    "num_heads": 2,
    "beam_width": 2,
}


def record(random) -> dict:
    """One to three facts about a person, in any order, with one or two texts that say them."""
    name = NAMES[random.integers(len(NAMES))]
    values = {
        "birthPlace": TOWNS[random.integers(len(TOWNS))],
        "birthYear": str(1800 + int(random.integers(99))),
        "field": ("optics", "sums")[random.integers(2)],
    }
    chosen = random.permutation(list(SAID))[: random.integers(1, 4)].tolist()
    triples, texts = [[name, key, values[key]] for key in chosen], []
    for _ in range(random.integers(1, 3)):
        order = sorted(range(len(chosen)), key=lambda place: list(SAID).index(chosen[place]))
        said = [SAID[chosen[place]].format(values[chosen[place]]) for place in order]
        text = f"{name} {' and '.join(said)}.".replace("_", " ")
        texts.append({"text": text, "order": order})
    return {"category": "Person", "triples": triples, "texts": texts}


def write_facts(folder, train: int = 60, held_out: int = 7) -> Path:
    """A folder of train.jsonl, dev.jsonl and test.jsonl."""
    folder = Path(folder)
    folder.mkdir()
    random = np.random.default_rng(5)
    for split, count in (("train", train), ("dev", held_out), ("test", held_out)):
        lines = [json.dumps(record(random)) for _ in range(count)]
        (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder

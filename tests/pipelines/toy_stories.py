"""Two made-up bAbI tasks: where somebody is, and what somebody carries."""

import numpy as np

PEOPLE, PLACES = ("Mary", "John", "Sandra"), ("kitchen", "garden", "office", "hallway", "park")
THINGS = ("milk", "apple", "football")
SIZES = {"epochs": 2, "batch_size": 5, "lengths": (3, 7), "embedding_dim": 5, "warmup_steps": 3}
TINY = {**SIZES, "num_hops": 2}
"""Field values with which `babi_memory_network` trains on them in seconds."""
TINY_DNC = {**SIZES, "hidden_dim": 7, "num_slots": 5, "slot_dim": 3, "num_read_heads": 2}
"""Field values with which `babi_dnc` trains on them in seconds."""


def lines(count, carries, seed=0):
    """Lines of stories with `count` questions in all."""
    random, written = np.random.default_rng(seed), []
    for _ in range(count):
        where, holds, number = {}, {}, int(random.integers(1, 9))
        for place in range(number):
            person = str(random.choice(PEOPLE))
            if carries and place % 2:
                thing = str(random.choice(THINGS))
                holds.setdefault(person, []).append(thing)
                written.append(f"{place + 1} {person} took the {thing} there.")
            else:
                where[person] = str(random.choice(PLACES))
                written.append(f"{place + 1} {person} went to the {where[person]}.")
        person = str(random.choice(sorted(where)))
        if carries:
            answer = ",".join(holds.get(person, ["nothing"])[:2])
            written.append(f"{number + 1} What is {person} carrying? \t{answer}\t1")
        else:
            written.append(f"{number + 1} Where is {person}? \t{where[person]}\t1")
    return written


def write_tasks(folder, train=31, test=7):
    """qa1_where and qa8_lists, as train and test files."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (split, count) in enumerate((("train", train), ("test", test))):
        for name, carries in (("qa1_where", False), ("qa8_lists-sets", True)):
            text = "".join(f"{line}\n" for line in lines(count, carries, seed))
            (folder / f"{name}_{split}.txt").write_text(text, encoding="utf-8")
    return folder

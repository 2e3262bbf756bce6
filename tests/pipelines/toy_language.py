"""A toy language: numbers spelled in two ways, the second backwards; and folders of it."""

import numpy as np

from keras_attn_pipelines.data.pairs import TextPair

NAMES = ("one", "two", "three", "five", "seven")
OTHERS = ("eins", "zwei", "drei", "fünf", "sieben")
TASK = {
    "source_column": "en",
    "target_column": "de",
    "vocabulary_size": 310,
    "lengths": (7, 13, 23),
}
"""Field values of its source and task."""
TINY = {**TASK, "hidden_dim": 14, "intermediate_dim": 11, "num_heads": 2, "num_layers": 1}
"""Field values with which `translator_transformer` trains on it in seconds."""
TINY_CONVOLUTIONAL = {
    **TASK,
    "num_encoder_layers": 2,
    "num_decoder_layers": 1,
    "hidden_dim": 13,
    "embedding_dim": 11,
}
"""The same for `translator_conv`."""


def pairs(count, seed=0, longest=6):
    """Pairs such as "one three" and "drei eins"."""
    random = np.random.default_rng(seed)
    text_pairs = []
    for _ in range(count):
        digits = random.integers(0, len(NAMES), random.integers(1, longest + 1))
        source = " ".join(NAMES[digit] for digit in digits)
        text_pairs.append(TextPair(source, " ".join(OTHERS[digit] for digit in digits[::-1])))
    return text_pairs


def write_folder(folder, train=61, val=7, test=5):
    """Parallel files train, val and test_toy with suffixes .en and .de."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (stem, count) in enumerate((("train", train), ("val", val), ("test_toy", test))):
        split = pairs(count, seed)
        sides = {"en": [pair.source for pair in split], "de": [pair.target for pair in split]}
        for language, texts in sides.items():
            text = "".join(f"{line}\n" for line in texts)
            (folder / f"{stem}.{language}").write_text(text, encoding="utf-8")
    return folder

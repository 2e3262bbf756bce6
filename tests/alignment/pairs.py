"""Sentence pairs of distinct short lengths."""

PAIRS = [
    (["the", "house"], ["das", "Haus"]),
    (["the", "book"], ["das", "Buch"]),
    (["a", "book"], ["ein", "Buch"]),
    (["the", "small", "book"], ["das", "kleine", "Buch", "da"]),
    (["a", "house"], ["ein", "kleines", "Haus"]),
    (["books"], ["die", "Bücher"]),
    (["a", "small", "house", "is", "the", "house"], ["Haus"]),
]
SOURCES, TARGETS = (list(side) for side in zip(*PAIRS))
LOWER = [([w.lower() for w in source], [w.lower() for w in target]) for source, target in PAIRS]

"""IBM Models 3 to 5 by nltk, started from the tables of our Model 2."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keras_attn.alignment.batches import (
    each_pair,
    make_batches,
    rows_of_batches,
    words_of_keys,
)
from keras_attn.alignment.options import AlignerOptions
from keras_attn.alignment.training import train
from keras_attn.alignment.vocabulary import NULL, Vocabulary
from keras_attn.extras import extra

_SHARED = ("translation_table", "alignment_table", "fertility_table", "p1")


def fertility_alignments(
    sources: Sequence[Sequence[str]],
    targets: Sequence[Sequence[str]],
    model: int = 3,
    iterations: int = 5,
    source_classes: Mapping[str, Any] | None = None,
    target_classes: Mapping[str, Any] | None = None,
    progress=None,
) -> list[list[tuple[int, int]]]:
    """Alignments of the target given the source by IBM Model 3, 4 or 5, with fertility.

    Our Model 2 is trained first, then Model 3 from its tables, Model 4 from those of Model 3, and
    Model 5 from those of Model 4. nltk samples alignments in Python: it is for about a hundred
    short pairs.

    Args:
        sources, targets: sentences, each a sequence of words; pairs without words get no links.
        model: 3, 4 or 5.
        iterations: int ≥ 1. Of each model.
        source_classes, target_classes: word classes of lower-cased words, for Models 4 and 5.
            Default: the last letter.
        progress: called with "Model N", the steps done and all steps; or None.

    Returns:
        for each pair its links, (source word, target word) from 0, sorted: the most probable ones
        that were found in the last iteration.

    Raises:
        ValueError: another model or no iteration ("Expected model 3, 4 or 5. Received: model=2").
        ImportError: nltk is missing.

    Source: Brown et al. 1993, Computational Linguistics 19(2).
    """
    if model not in (3, 4, 5):
        raise ValueError(f"Expected model 3, 4 or 5. Received: model={model}")
    if iterations < 1:
        raise ValueError(f"Expected iterations >= 1. Received: iterations={iterations}")
    if len(sources) != len(targets):
        raise ValueError(
            f"Expected as many sources as targets. Received: {len(sources)} and {len(targets)}"
        )
    with extra("alignment"):
        from nltk import translate
    sources, targets = _lower(sources), _lower(targets)
    rows = [row for row, pair in enumerate(zip(sources, targets)) if all(pair)]
    links: list[list[tuple[int, int]]] = [[] for _ in sources]
    if not rows:
        return links
    sources, targets = [[side[row] for row in rows] for side in (sources, targets)]
    corpus = [translate.AlignedSent(*pair) for pair in zip(targets, sources)]
    classes = [source_classes or _last_letters(sources), target_classes or _last_letters(targets)]
    tables = _model2_tables(sources, targets, translate.IBMModel.MIN_PROB)
    for number in range(3, model + 1):
        kind = getattr(translate, f"IBMModel{number}")
        trained = kind(corpus, 0) if number == 3 else kind(corpus, 0, *classes)
        for name, table in tables.items():
            setattr(trained, name, table)
        for iteration in range(iterations):
            trained.train(corpus)
            if progress is not None:
                progress(f"Model {number}", iteration + 1, iterations)
        tables = {name: getattr(trained, name) for name in _tables_after(number)}
    for row, pair in zip(rows, corpus):
        links[row] = sorted((i, j) for j, i in pair.alignment if i is not None)
    return links


def _lower(sentences):
    return [[word.lower() for word in words] for words in sentences]


def _last_letters(sentences):
    """Class of each word."""
    return {word: word[-1:] for words in sentences for word in words}


def _tables_after(number):
    """Names of the tables from which the next model starts."""
    distortions = ("head_distortion_table", "non_head_distortion_table")
    return _SHARED if number == 3 else (*_SHARED, *distortions)


def _model2_tables(sources, targets, least):
    """Tables of Model 2 as nltk's defaultdicts: translation[f][e] and alignment[i][j][l][m]."""
    vocabularies = Vocabulary.of(sources), Vocabulary.of(targets)
    encoded = [
        vocabulary.encode(side)
        for vocabulary, side in zip(vocabularies, (sources, targets), strict=True)
    ]
    options = AlignerOptions(model="model2", agreement=False, stem_weight=0, spelling_weight=0)
    forward = train(*encoded, vocabularies, options).forward
    translation = defaultdict(lambda: defaultdict(lambda: least))
    names = [[None, *vocabulary.words] for vocabulary in vocabularies]
    pairs = (numbers.tolist() for numbers in words_of_keys(forward.keys))
    for e, f, value in zip(*pairs, forward.lexicon.values.tolist()):
        translation[names[1][f]][None if e == NULL else names[0][e]] = max(value, least)
    alignment = defaultdict(lambda: defaultdict(lambda: defaultdict(lambda: defaultdict(float))))
    for batch in make_batches(*encoded, rows_of_batches(*encoded))[0]:
        for _, values in each_pair(batch, forward.distortion.probabilities(batch)):
            words, length = len(values), values.shape[1] - 1
            for (j, i), value in np.ndenumerate(values):
                alignment[i][1 + j][length][words] = max(float(value), least)
    return {"translation_table": translation, "alignment_table": alignment}

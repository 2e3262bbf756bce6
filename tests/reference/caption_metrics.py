"""Slow twins of coco-caption's BLEU, ROUGE-L and CIDEr-D, from their papers' formulas.

Every function takes tokens: one list for each candidate, a list of lists for its references.
"""

import functools
import math
from collections import Counter

import numpy as np


def ngrams(tokens, n):
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def bleu(candidates, references, order):
    """Corpus BLEU with clipped counts, closest reference length (the shorter on a tie).

    coco-caption keeps quotients finite by 1e-15 above and 1e-9 below.
    """
    precisions = []
    for n in range(1, order + 1):
        matched = total = 0
        for candidate, own in zip(candidates, references):
            counts = ngrams(candidate, n)
            limits = [ngrams(reference, n) for reference in own]
            matched += sum(min(c, max(limit[g] for limit in limits)) for g, c in counts.items())
            total += sum(counts.values())
        precisions.append((matched + 1e-15) / (total + 1e-9))
    length = sum(map(len, candidates))
    closest = sum(
        min((abs(len(reference) - len(candidate)), len(reference)) for reference in own)[1]
        for candidate, own in zip(candidates, references)
    )
    ratio = (length + 1e-15) / (closest + 1e-9)
    brevity = math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
    return brevity * math.prod(precisions) ** (1 / order)


def longest_common_subsequence(first, second):
    @functools.cache
    def length(i, j):
        if i == 0 or j == 0:
            return 0
        if first[i - 1] == second[j - 1]:
            return length(i - 1, j - 1) + 1
        return max(length(i - 1, j), length(i, j - 1))

    return length(len(first), len(second))


def rouge_l(candidates, references, beta=1.2):
    """Mean over examples of the F of the best precision and the best recall."""
    scores = []
    for candidate, own in zip(candidates, references):
        common = [longest_common_subsequence(candidate, reference) for reference in own]
        precision = max(common) / max(1, len(candidate))
        recall = max(c / max(1, len(reference)) for c, reference in zip(common, own))
        both = recall + beta**2 * precision
        scores.append((1 + beta**2) * precision * recall / both if both else 0.0)
    return float(np.mean(scores))


def cider_d(candidates, references, sigma=6.0):
    """10 times the mean over n-gram sizes 1 to 4 and references of clipped tf-idf cosines.

    A length is a number of bigrams, as in coco-caption.
    """
    scores = []
    for candidate, own in zip(candidates, references):
        for n in range(1, 5):
            words = sorted({g for texts in references for text in texts for g in ngrams(text, n)})
            frequency = [
                sum(any(g in ngrams(t, n) for t in ts) for ts in references) for g in words
            ]
            idf = np.log(len(references)) - np.log(np.maximum(1, frequency))
            unseen = np.log(len(references))
            hypothesis, norm = _vector(ngrams(candidate, n), words, idf, unseen)
            for reference in own:
                vector, reference_norm = _vector(ngrams(reference, n), words, idf, unseen)
                gap = max(0, len(candidate) - 1) - max(0, len(reference) - 1)
                similarity = np.sum(np.minimum(hypothesis, vector) * vector)
                similarity /= (norm * reference_norm) or 1.0
                scores.append((similarity * math.exp(-(gap**2) / (2 * sigma**2)), len(own)))
    return 10 * sum(score / count for score, count in scores) / (4 * len(candidates))


def _vector(counts, words, idf, unseen):
    """tf-idf over the reference vocabulary, and the norm over all n-grams."""
    vector = np.array([counts[word] for word in words], float) * idf if words else np.zeros(0)
    outside = sum((count * unseen) ** 2 for word, count in counts.items() if word not in words)
    return vector, math.sqrt(np.sum(vector**2) + outside)

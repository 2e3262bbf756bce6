"""CIDEr-D of single captions, and BLEU-4 beside it, as a reward.

Document frequencies are counted once, beforehand.
"""

import collections
import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from keras_attn.contracts import END_PIECE
from keras_attn.evaluation.caption_metrics import CAPTION_TOKENIZERS
from keras_attn.evaluation.tokenization import AUTO, PTB, caption_tokenization

LONGEST_NGRAM, SIGMA = 4, 6.0


class _Vector(NamedTuple):
    """A caption's n-grams: for each n a dict of weights and its Euclidean norm; and its bigrams."""

    weights: list[dict[tuple[str, ...], float]]
    norms: list[float]
    bigrams: int


class ConsensusReward:
    """CIDEr-D of captions against references, and BLEU-4 beside it, one score a caption.

        10/|refs| Σ_refs mean_n exp(−δ²/2σ²) Σ_g min(h_g, r_g) r_g / (|h_n| |r_n|)

    h and r are tf–idf weights of n-grams g, n = 1 to 4, δ the difference in length, σ 6. With
    `bleu_weight`, so many times a caption's own BLEU-4, 0 to 1, is added: by the nearest length of
    a reference, and for n > 1 with 1 added to the matches and to the number of n-grams, which is
    taken to be 1 at least.

    Args:
        references: for each example of a corpus, its reference captions. They make the document
            frequencies: of how many examples an n-gram is in some reference.
        with_end: bool. Whether the end of a caption counts as a word. As a reward it should: else
            captions that stop after "in a" are not told from whole ones.
        tokenization: "ptb", "char" or "auto": by the references, see `caption_tokenization`.
        bleu_weight: float ≥ 0. Weight of BLEU-4.

    Raises:
        ValueError: no example, an unknown tokenizer, or a negative weight.

    Source: Vedantam et al. 2015, arXiv:1411.5726, as coco-caption computes it; the end as a word:
    Luo et al. 2018, arXiv:1803.04376, whose program has it; BLEU of single sentences: Lin and Och
    2004, *ORANGE*.
    """

    def __init__(
        self,
        references: Sequence[Sequence[str]],
        with_end: bool = True,
        tokenization: str = AUTO,
        bleu_weight: float = 0.0,
    ):
        if not bleu_weight >= 0:
            raise ValueError(f"Expected bleu_weight >= 0. Received: bleu_weight={bleu_weight}")
        if not references:
            raise ValueError("Expected references of at least one example. Received: none")
        self.with_end, self.examples, self.bleu_weight = with_end, len(references), bleu_weight
        texts = itertools.chain.from_iterable(references)
        self.tokenization = caption_tokenization(texts, tokenization)
        self.logarithm = math.log(self.examples)
        self.frequencies: collections.Counter[tuple[str, ...]] = collections.Counter()
        for group in references:
            self.frequencies.update({gram for text in group for gram in _ngrams(self.words(text))})

    def get_config(self) -> dict:
        """What was counted, as `from_config` takes it."""
        counts = [[list(gram), count] for gram, count in self.frequencies.items()]
        return {
            "with_end": self.with_end,
            "examples": self.examples,
            "frequencies": counts,
            "tokenization": self.tokenization,
            "bleu_weight": self.bleu_weight,
        }

    @classmethod
    def from_config(cls, config) -> "ConsensusReward":
        """The inverse of `get_config`."""
        tokenization = config.get("tokenization", PTB)  # Earlier versions do not say.
        weight = config.get("bleu_weight", 0.0)
        made = cls([[]] * config["examples"], config["with_end"], tokenization, weight)
        made.frequencies.update({tuple(gram): count for gram, count in config["frequencies"]})
        return made

    def words(self, text: str, ended: bool = True) -> list[str]:
        """A caption's words, and its end where that counts and there is one."""
        words = CAPTION_TOKENIZERS[self.tokenization](text)
        return [*words, *([END_PIECE] if self.with_end and ended else [])]

    def scores(
        self,
        captions: Sequence[str],
        references: Sequence[str],
        ended: Sequence[bool] | None = None,
    ) -> list[float]:
        """Scores, 0 to 10, and what BLEU adds, of several captions of one example.

        Args:
            captions: the captions.
            references: what each of them is compared with; without any, all scores are 0.
            ended: for each caption, whether it came to its end; None is all.
        """
        given = [self.words(text) for text in references]
        truth, values = [self._vector(words) for words in given], []
        for place, text in enumerate(captions):
            words = self.words(text, ended is None or bool(ended[place]))
            candidate = self._vector(words)
            similarity = sum(_similarity(candidate, reference) for reference in truth)
            bleu = self.bleu_weight and self.bleu_weight * _bleu(words, given)
            values.append(10.0 * similarity / max(len(truth), 1) + bleu)
        return values

    def _vector(self, words):
        weights: list[dict[tuple[str, ...], float]] = [{} for _ in range(LONGEST_NGRAM)]
        for gram, count in _ngrams(words).items():
            rarity = self.logarithm - math.log(max(1, self.frequencies[gram]))
            weights[len(gram) - 1][gram] = count * rarity
        norms = [math.sqrt(sum(w * w for w in grams.values())) for grams in weights]
        return _Vector(weights, norms, max(len(words) - 1, 0))


def _ngrams(words):
    return collections.Counter(
        tuple(words[start : start + n])
        for n in range(1, LONGEST_NGRAM + 1)
        for start in range(len(words) - n + 1)
    )


def _bleu(words, references):
    """BLEU-4 of a caption, 0 to 1, from the words of it and of its references."""
    most: collections.Counter[tuple[str, ...]] = collections.Counter()
    for reference in references:
        most |= _ngrams(reference)
    matches, totals = [0] * LONGEST_NGRAM, [0] * LONGEST_NGRAM
    for gram, count in _ngrams(words).items():
        matches[len(gram) - 1] += min(count, most[gram])
        totals[len(gram) - 1] += count
    if not matches[0]:
        return 0.0
    logarithm = math.log(matches[0] / totals[0]) + sum(
        math.log((match + 1) / (max(total, 1) + 1)) for match, total in zip(matches[1:], totals[1:])
    )
    length = min((abs(len(r) - len(words)), len(r)) for r in references)[1]
    return math.exp(logarithm / LONGEST_NGRAM + min(0.0, 1 - length / len(words)))


def _similarity(first, other):
    total = 0.0
    for n in range(LONGEST_NGRAM):
        weights, truth = first.weights[n], other.weights[n]
        product = sum(
            min(weights[gram], truth[gram]) * truth[gram] for gram in weights if gram in truth
        )
        norm = first.norms[n] * other.norms[n]
        total += product / norm if norm else product
    distance = first.bigrams - other.bigrams
    return total / LONGEST_NGRAM * math.exp(-(distance**2) / (2 * SIGMA**2))

"""Metrics of generated text against one or more references each, by sacreBLEU."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from keras_attn.evaluation.tokenization import AUTO, WORDS, text_tokenization
from keras_attn.extras import extra


def text_metrics(
    candidates: Sequence[str],
    references: Sequence[str | Sequence[str]],
    tokenization: str = AUTO,
) -> dict[str, float]:
    """Corpus scores of texts as they are, neither tokenized nor put in lower case beforehand.

    Args:
        candidates: one text for each example; it may be empty.
        references: one reference for each example, or a sequence of one or more.
        tokenization: sacreBLEU's tokenizer for BLEU, or "auto": by the references, see
            `text_tokenization`.

    Returns:
        dict: "bleu", "chrf" and "bleu_lowercase" in 0..100, each with its signature in
        `text_signatures`; "exact" in 0..1, the share of texts equal to a reference.

    Raises:
        ValueError: no example, one without a reference, not as many references as candidates, or
            a tokenizer that is not in `TEXT_TOKENIZATIONS`.
        ImportError: sacrebleu, or a package that its tokenizer needs, is not installed.

    Source: Post 2018, arXiv:1804.08771; chrF: Popović 2015. Lower-case BLEU is what papers on
    small data (Multi30k) give; theirs is of text tokenized by Moses, this one's by sacreBLEU.
    """
    if not candidates or len(candidates) != len(references):
        raise ValueError(
            f"Expected as many references as texts, and at least one. Received: "
            f"{len(references)} references, {len(candidates)} texts"
        )
    several = [[texts] if isinstance(texts, str) else list(texts) for texts in references]
    if [] in several:
        raise ValueError(f"Expected a reference for text {several.index([])}. Received: none")
    pairs = zip(candidates, several)
    exact = sum(candidate in texts for candidate, texts in pairs) / len(candidates)
    streams = list(zip_longest(*several))
    tokenizer = text_tokenization((text for texts in several for text in texts), tokenization)
    scores = {
        name: float(metric.corpus_score(list(candidates), streams).score)
        for name, metric in _metrics(tokenizer).items()
    }
    return {**scores, "exact": exact}


def text_signatures(several: bool = False, tokenization: str = WORDS) -> dict[str, str]:
    """sacreBLEU's signature of each of its metrics.

    Args:
        several: whether texts have different numbers of references; False: one each.
        tokenization: what `text_tokenization` returned for the references.
    """
    streams = [["a", "b"], ["a", None]] if several else [["a", "b"]]
    values = {}
    for name, metric in _metrics(tokenization).items():
        score = metric.corpus_score(["a", "b"], streams)
        values[name] = f"{score.name}|{metric.get_signature()}"
    return values


def _metrics(tokenizer) -> dict[str, Any]:
    with extra("evaluation"):
        from sacrebleu.metrics import BLEU, CHRF
    return {
        "bleu": BLEU(force=True, tokenize=tokenizer),
        "chrf": CHRF(),
        "bleu_lowercase": BLEU(lowercase=True, force=True, tokenize=tokenizer),
    }

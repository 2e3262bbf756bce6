"""Perplexity of sentences."""

import math

from keras_attn.contracts import SOURCE_PIECES, TOKEN_SCORES
from keras_attn_pipelines.experiment.evaluation import Evaluation
from keras_attn_pipelines.tasks.language_modeling.service import UNKNOWN_PIECE


def evaluate_perplexity(records, answers) -> Evaluation:
    """Scores a language model's answers: see `Task.evaluation`.

    The perplexity counts each word and each end of a sentence; an unknown word counts as one word
    that all unknown words are.
    """
    pieces = [piece for answer in answers for piece in answer[SOURCE_PIECES] if piece]
    if not pieces:
        raise ValueError("Expected a sentence that can be read. Received: none")
    total = sum(float(answer[TOKEN_SCORES].sum()) for answer in answers)
    loss, unknown = -total / len(pieces), pieces.count(UNKNOWN_PIECE.encode())
    return Evaluation(
        scores={"perplexity": math.exp(loss), "loss": loss, "unknown": unknown / len(pieces)},
        cells={
            "perplexity": f"{math.exp(loss):.1f}",
            "nats a word": f"{loss:.3f}",
            "unknown words": f"{100 * unknown / len(pieces):.1f}%",
        },
        count=len(records),
        unit="sentences",
        note=f", {len(pieces)} words and ends",
    )

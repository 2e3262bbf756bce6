"""Errors in the answers to algorithmic problems."""

import numpy as np

from keras_attn.contracts import LONGER, SCORE, TEXT
from keras_attn_pipelines.experiment.evaluation import Evaluation
from keras_attn_pipelines.tasks.algorithmic.names import ANSWER_WORDS


def evaluate_sequences(records, answers, vocabularies) -> Evaluation:
    """Scores the answers to algorithmic problems: see `Task.evaluation`.

    A bit of a word that an answer lacks, or has too much, is wrong where it is 1.
    """
    texts = [answer[TEXT][0].decode() for answer in answers]
    targets = [record.target for record in records]
    wrong = wrong_bits(vocabularies[ANSWER_WORDS], texts, targets)
    exact = np.array([text == target for text, target in zip(texts, targets)])
    lengths = np.array([record.length for record in records])
    longer = sum(int(answer[LONGER]) for answer in answers)
    note = f", {longer} of them longer than any trained on" if longer else ""
    by_length = {
        int(length): {
            "wrong_bits": float(wrong[lengths == length].mean()),
            "exact": float(exact[lengths == length].mean()),
        }
        for length in np.unique(lengths)
    }
    return Evaluation(
        scores={"wrong_bits": float(wrong.mean()), "exact": float(exact.mean())},
        cells={
            "wrong bits a sequence": f"{wrong.mean():.2f}",
            "exact": f"{100 * exact.mean():.1f}%",
        },
        count=len(records),
        unit="sequences",
        note=note,
        facts={
            "longer": longer,
            "lengths": {str(length): scores for length, scores in by_length.items()},
            "answers": [
                {
                    "source": record.source,
                    "target": record.target,
                    "text": text,
                    "score": float(answer[SCORE][0]),
                }
                for record, answer, text in zip(records, answers, texts)
            ],
        },
    )


def wrong_bits(words, texts, targets):
    """int (R,): in how many bits each text differs from its target.

    Args:
        words: `AnswerWords`.
        texts: R strings.
        targets: R strings.
    """
    count = len(texts)
    vectors = words.encode([*texts, *targets]).to_tensor().numpy()
    return np.sum(vectors[:count] != vectors[count:], axis=(1, 2))

"""Scores parsed trees by labeled brackets, with EVALB's rules."""

from keras_attn.contracts import SCORE, TEXT
from keras_attn.evaluation.brackets import compare_brackets
from keras_attn.evaluation.right_branching import RightBranching
from keras_attn.text.bracket_text import bracket_text, parse_tree
from keras_attn.text.trees import leaves, retagged
from keras_attn_pipelines.experiment.evaluation import Evaluation

LABELS = {
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
    "exact": "exact match",
    "tagging": "tagging",
    "f1_true_tags": "F1, true tags",
    "right_branching_f1": "right-branching F1",
}
NOTE = (
    "In percent, by EVALB's rules with COLLINS.prm, on sentences of any length; F1, precision and "
    "recall are over the labeled brackets of all sentences. EVALB identifies punctuation by its "
    "tags and skips sentences in which a wrong tag turns punctuation into a word; with the true "
    "tags every sentence with a tree counts. Right-branching: every constituent extends to the end "
    "of the sentence, with this split's most frequent label for the tag of its first word."
)


def evaluate_trees(records, answers, metadata) -> Evaluation:
    """Scores the best tree of each answer: see `Task.evaluation`."""
    texts = [answer[TEXT][0].decode() for answer in answers]
    parsed = [parse_tree(text) if text else None for text in texts]
    true = [record.target for record in records]
    report = compare_brackets(parsed, true)
    bare = [with_true_tags(*both) for both in zip(parsed, records)]
    scores = {
        **report.scores(),
        "f1_true_tags": compare_brackets(bare, true).scores()["f1"],
        "right_branching_f1": _right_branching(records),
    }
    unscored = [f"{records[n].source!r:.80}: {why}" for n, why in report.unscored()]
    return Evaluation(
        scores=scores,
        cells={label: f"{scores[key]:.2f}" for key, label in LABELS.items()},
        count=len(records),
        unit="trees",
        note=f"; {len(unscored)} of them could not be compared and count in no score. {NOTE}",
        facts={
            "unscored": unscored,
            "texts": [
                {
                    "source": record.source,
                    "text": text,
                    "score": float(answer[SCORE][0]),
                    "reference": bracket_text(record.target),
                }
                for record, text, answer in zip(records, texts, answers)
            ],
            "rules": "EVALB, COLLINS.prm",
        },
        beam_width=metadata["beam_width"],
    )


def with_true_tags(parsed, record):
    """A parsed tree with the record's tags; unchanged if it is None or has other words."""
    tags = [leaf.tag for leaf in leaves(record.target)]
    fits = parsed is not None and len(leaves(parsed)) == len(tags)
    return retagged(parsed, tags) if fits else parsed


def _right_branching(records):
    """F1 of the baseline in percent; 0 if no tree has a constituent of several words."""
    trees = [record.target for record in records]
    try:
        parser = RightBranching.learn(trees)
    except ValueError:
        return 0.0
    sentences = [leaves(tree) for tree in trees]
    parsed = [
        parser.parse([leaf.word for leaf in own], [leaf.tag for leaf in own]) for own in sentences
    ]
    return compare_brackets(parsed, trees).scores()["f1"]

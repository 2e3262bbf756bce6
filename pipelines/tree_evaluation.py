"""Parsed trees of a split in labeled brackets, by EVALB's rules."""

from dataclasses import dataclass

from keras_attn.evaluation.brackets import compare_brackets
from keras_attn.evaluation.right_branching import RightBranching
from keras_attn.text.bracket_text import bracket_text, parse_tree
from keras_attn.text.trees import leaves, retagged
from pipelines.evaluation import SearchEvaluation

LABELS = {
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
    "exact": "exact match",
    "tagging": "tagging",
    "f1_true_tags": "F1, true tags",
    "right_branching_f1": "right-branching F1",
}


@dataclass(frozen=True)
class TreeEvaluation(SearchEvaluation):
    """Parsed trees of a split, scored.

    Attributes:
        trees: how many there were.
        unscored: sentences that count in no score, with the reason: EVALB's errors and skipped.
        texts: list of dicts with source, text (the parsed tree), score (nats), reference.
    """

    trees: int
    unscored: list[str]
    texts: list[dict]

    @classmethod
    def of(cls, records, texts, scores, **facts) -> "TreeEvaluation":
        """Scores trees: see `SearchRecipe.text_evaluation`."""
        parsed = [parse_tree(text) if text else None for text in texts]
        report = compare_brackets(parsed, [record.target for record in records])
        left_out = [f"{records[n].source!r:.80}: {why}" for n, why in report.unscored()]
        rows = [
            {
                "source": record.source,
                "text": text,
                "score": score,
                "reference": bracket_text(record.target),
            }
            for record, text, score in zip(records, texts, scores)
        ]
        bare = [with_true_tags(*both) for both in zip(parsed, records)]
        found = {
            **report.scores(),
            "f1_true_tags": compare_brackets(bare, [one.target for one in records]).scores()["f1"],
            "right_branching_f1": _right_branching(records),
        }
        return cls(scores=found, trees=len(records), unscored=left_out, texts=rows, **facts)

    def cells(self):
        """See `Evaluation`."""
        return {label: f"{self.scores[key]:.2f}" for key, label in LABELS.items()}

    def note(self):
        """See `Evaluation`."""
        return (
            f"{self.trees} trees of {self.split}, beam {self.beam_width}; {len(self.unscored)} of "
            "them could not be compared and count in no score. Percent, by the rules of EVALB with "
            "COLLINS.prm, on sentences of any length; F1, precision and recall of the labeled "
            "brackets of all sentences together. EVALB finds punctuation marks by their tags, and "
            "leaves out a sentence where a wrong one makes a word of them; under the true tags "
            "every sentence with a tree counts. Right-branching: every constituent reaches to the "
            "sentence's end, with this split's own most frequent label for the tag of its first "
            "word."
        )

    def facts(self):
        """See `Evaluation`."""
        return {"rules": "EVALB, COLLINS.prm"}


def with_true_tags(parsed, record):
    """A parsed tree with the tags of the record's; as it is where it is None or has other words."""
    tags = [leaf.tag for leaf in leaves(record.target)]
    fits = parsed is not None and len(leaves(parsed)) == len(tags)
    return retagged(parsed, tags) if fits else parsed


def _right_branching(records):
    """F1 of the baseline, in percent; 0 where no tree has a constituent of several words in it."""
    trees = [record.target for record in records]
    try:
        parser = RightBranching.learn(trees)
    except ValueError:
        return 0.0
    sentences = [leaves(tree) for tree in trees]
    parsed = [
        parser.parse([one.word for one in own], [one.tag for one in own]) for own in sentences
    ]
    return compare_brackets(parsed, trees).scores()["f1"]

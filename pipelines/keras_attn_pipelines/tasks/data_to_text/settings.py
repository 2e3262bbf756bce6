"""Settings of the data-to-text task."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, SOURCE, TOKENS
from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.beam_search import BeamSearch
from keras_attn_pipelines.experiment.fields import is_increasing, option, part
from keras_attn_pipelines.experiment.parts import TaskSpec, Work
from keras_attn_pipelines.experiment.pieces import Pieces
from keras_attn_pipelines.experiment.scoring import TextScoring

SOURCE_COLUMNS = 7
"""Columns of SOURCE, see `FactTokens`."""


@part
class DataToText:
    """Facts to text: triples of a graph, or fields and values of a table."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="facts with texts",
        targets=(LOGITS,),
        monitors=("bleu", "chrf", "mentioned", "copied"),
        best_possible={"bleu": 100, "chrf": 100},
        batches_of_tokens=True,
        searches=True,
    )

    pieces: Pieces = Pieces()
    slots: int = option(
        "maximum number of names in a set that get a token of their own, at most as many as a "
        "training set has; 0: none",
        default=0,
        settled=True,
        least=0,
        most=4096,
    )
    max_facts: int = option("maximum facts of a set", default=16, settled=True, least=1)
    lengths: tuple[int, ...] = option(
        "bucket lengths of texts, in pieces",
        default=(18, 24, 30, 36, 42, 50, 60, 76, 128),
        buckets=True,
    )
    source_lengths: tuple[int, ...] = option(
        "bucket lengths of sets of facts, in pieces, as many as lengths",
        default=(16, 24, 34, 44, 54, 66, 82, 104, 384),
        buckets=True,
    )
    label_smoothing: float = option(
        "label smoothing: probability spread over the vocabulary", default=0.1, least=0, below=1
    )
    made_up_names: float = option(
        "probability that a name is replaced by a made-up one in training batches, in the facts "
        "and in the text",
        default=0.0,
        least=0,
        below=1,
    )
    name_dropout: float = option(
        "probability that a name with a slot is reduced to its slot in training batches",
        default=0.0,
        needs={"slots": True},
        least=0,
        below=1,
    )
    search: BeamSearch = BeamSearch(length_alpha=0.6)
    scoring: TextScoring = TextScoring()

    def check(self):
        """Raises ValueError unless there are as many source_lengths as lengths."""
        lengths = self.source_lengths
        if not (is_increasing(lengths) and len(lengths) == len(self.lengths)):
            raise ValueError(
                f"Expected source_lengths to be increasing and >= 1, as many as "
                f"lengths={self.lengths}. Received: source_lengths={lengths}"
            )

    def features(self):
        """See `Task`."""
        return {SOURCE: Feature((None, SOURCE_COLUMNS)), TOKENS: Feature((None,))}

    def work(self) -> Work:
        """See `Task`."""
        from keras_attn_pipelines.tasks.data_to_text.work import DataToTextWork

        return DataToTextWork(self)

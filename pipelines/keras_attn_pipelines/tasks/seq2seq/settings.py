"""Settings of the sequence-to-sequence task."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, SOURCE, TOKENS
from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.beam_search import BeamSearch
from keras_attn_pipelines.experiment.fields import is_increasing, option, part
from keras_attn_pipelines.experiment.parts import TaskSpec, Work
from keras_attn_pipelines.experiment.pieces import Pieces
from keras_attn_pipelines.experiment.scoring import TextScoring

SHARED, SEPARATE, PRETRAINED = "shared", "separate", "pretrained"


@part
class Seq2Seq:
    """Text to text: translation, summaries, paraphrases, answers."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="pairs of texts",
        from_few="start from a model of more pairs, if you have one: --from RUN",
        targets=(LOGITS,),
        monitors=("bleu", "chrf", "bleu_lowercase", "exact"),
        best_possible={"bleu": 100, "chrf": 100, "bleu_lowercase": 100},
        batches_of_tokens=True,
        searches=True,
    )

    vocabulary: str = option(
        "one vocabulary for both sides, one for each, or those of an imported model",
        default=SHARED,
        settled=True,
        choices=(SHARED, SEPARATE, PRETRAINED),
    )
    pieces: Pieces = Pieces()
    lengths: tuple[int, ...] = option(
        "bucket lengths of targets, in pieces", default=(12, 16, 20, 24, 32, 48, 96), buckets=True
    )
    source_lengths: tuple[int, ...] = option(
        "bucket lengths of sources, in pieces; none: same as targets", default=()
    )
    label_smoothing: float = option(
        "label smoothing: probability spread over the vocabulary", default=0.1, least=0, below=1
    )
    bpe_dropout: float = option(
        "probability that a merge of pieces is skipped in training texts (BPE dropout)",
        default=0.0,
        least=0,
        below=1,
    )
    scheduled_sampling_rate: float = option(
        "fraction of decoder inputs sampled from the model by the end of training",
        default=0.0,
        least=0,
        most=1,
    )
    r_drop: float = option(
        "weight of R-Drop, which lets each batch pass twice under different dropout; 0 for none",
        default=0.0,
        least=0,
        most=1000,
    )
    search: BeamSearch = BeamSearch(length_alpha=0.6)
    scoring: TextScoring = TextScoring()

    def check(self):
        """Raises ValueError for R-Drop with scheduled sampling, or other buckets of sources."""
        if self.r_drop and self.scheduled_sampling_rate:
            raise ValueError(
                "Expected r_drop=0 with scheduled_sampling_rate > 0. "
                f"Received: r_drop={self.r_drop}, "
                f"scheduled_sampling_rate={self.scheduled_sampling_rate}"
            )
        lengths = self.source_lengths
        if lengths and not (is_increasing(lengths) and len(lengths) == len(self.lengths)):
            raise ValueError(
                f"Expected source_lengths to be increasing and >= 1, as many as "
                f"lengths={self.lengths}. "
                f"Received: source_lengths={lengths}"
            )
        if self.vocabulary == PRETRAINED and self.bpe_dropout:
            raise ValueError(
                "Expected bpe_dropout=0 with vocabulary=pretrained, whose pieces need not be made "
                f"by merges. Received: bpe_dropout={self.bpe_dropout}"
            )

    def features(self):
        """See `Task`."""
        return {SOURCE: Feature((None,)), TOKENS: Feature((None,))}

    def work(self) -> Work:
        """See `Task`."""
        from keras_attn_pipelines.tasks.seq2seq.work import Seq2SeqWork

        return Seq2SeqWork(self)

    @property
    def longest_source(self) -> int:
        """Maximum number of pieces of a source, end included."""
        return (self.source_lengths or self.lengths)[-1]

    @property
    def shares_vocabulary(self) -> bool:
        """Whether both sides have one tokenizer."""
        return self.vocabulary == SHARED

    @property
    def is_pretrained(self) -> bool:
        """Whether the vocabularies are those of a model that was trained elsewhere."""
        return self.vocabulary == PRETRAINED

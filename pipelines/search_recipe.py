"""What recipes have in common whose models write: a search finds their answers piece by piece."""

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from keras_attn.contracts import SCORE, TEXT
from keras_attn.decoding import Beam
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.training.gold_shares import LinearShare
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.scheduled_sampling import ScheduledSampling
from keras_attn.training.token_accuracy import TokenAccuracy
from keras_attn.training.training_stage import trained_model
from pipelines.evaluation import SearchEvaluation
from pipelines.recipe import TARGET_TOKENIZER, Recipe, option
from pipelines.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class SearchRecipe(Recipe):
    """Abstract: a model with a decoder, whose vocabulary is TARGET_TOKENIZER.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    vocabularies: ClassVar[Mapping[str, type[Vocabulary]]] = {TARGET_TOKENIZER: Tokenizer}
    outputs: ClassVar[Sequence[str]] = ()
    """Keys of the model's outputs that have targets of their own; none where it is LOGITS alone."""

    vocabulary_size: int = option(4000, "most pieces that the tokenizer learns")
    lowercase: bool = option(True, "put texts in lower case")
    lengths: tuple[int, ...] = option((16, 24, 40), "bucket lengths in pieces")
    own_words: float = option(0.0, "share of decoder inputs that the model says itself, at the end")
    beam_width: int = option(4, "beam width in evaluation and export")
    length_alpha: float = option(0.7, "exponent of GNMT's length penalty")

    def compile(self, model, steps: int, **options) -> None:
        """See `Recipe`.

        Where there are several outputs, each has a loss of the same kind, and they add up.
        """
        loss: Any = TokenCrossEntropy(self.label_smoothing)
        metrics: Any = [TokenAccuracy()]
        if self.outputs:
            loss = {key: TokenCrossEntropy(self.label_smoothing) for key in self.outputs}
            metrics = {key: [TokenAccuracy()] for key in self.outputs}
        optimizer = self.optimizer(trained_model(model), steps)
        model.compile(optimizer=optimizer, loss=loss, weighted_metrics=metrics, **options)

    def stage(self, model, data, steps):
        """See `Recipe`: scheduled sampling, where some of the words are the model's own."""
        if not self.own_words:
            return model
        share = LinearShare(slope=self.own_words / steps, floor=1 - self.own_words)
        return ScheduledSampling(model, share, seed=self.seed)

    def beam(self, width: int | None, n_best: int) -> Beam:
        """The search, with the recipe's width unless told otherwise."""
        return Beam(self.beam_width if width is None else width, self.length_alpha, n_best)

    def evaluation(self, records, answers, tokenizers, metadata, **facts):
        """See `Recipe`: of the best text of each answer."""
        texts = [answer[TEXT][0].decode() for answer in answers]
        scores = [float(answer[SCORE][0]) for answer in answers]
        facts = {**facts, "beam_width": metadata["beam_width"]}
        return self.text_evaluation(records, texts, scores, tokenizers, **facts)

    def found_by(self, service):
        """See `Recipe`."""
        strategy = service.strategy
        return (
            f"Beam {strategy.width}, length penalty α {strategy.alpha}, at most "
            f"{service.max_length} pieces."
        )

    @abc.abstractmethod
    def text_evaluation(
        self,
        records: Sequence,
        texts: list[str],
        scores: list[float],
        tokenizers: Mapping[str, Any],
        **facts,
    ) -> SearchEvaluation:
        """The `SearchEvaluation` of texts and their scores, in nats; `facts` are its other
        fields."""

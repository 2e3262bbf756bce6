"""How texts are tokenized for metrics, parts inside tasks."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from keras_attn.evaluation.caption_metrics import TOKENIZER_NAMES
from keras_attn.evaluation.text_metrics import text_signatures
from keras_attn.evaluation.tokenization import (
    AUTO,
    CAPTION_TOKENIZATIONS,
    TEXT_TOKENIZATIONS,
    caption_tokenization,
    text_tokenization,
)
from keras_attn_pipelines.experiment.fields import option, part


@part
class TextScoring:
    """The tokenizer for BLEU, by default chosen by the script of dev's references."""

    metric_tokenization: str = option(
        "sacreBLEU's tokenizer for BLEU; auto: by the script of dev's texts",
        default=AUTO,
        choices=TEXT_TOKENIZATIONS,
    )

    def resolve_auto(self, references: Iterable[str]) -> "TextScoring":
        """A copy whose tokenizer is chosen by the references, if it is "auto".

        Raises:
            ImportError: a tokenizer whose packages are not installed.
        """
        name = text_tokenization(references, self.metric_tokenization)
        return replace(self, metric_tokenization=name)

    def notes(self, metrics: Sequence[str], several: bool = False) -> dict[str, str]:
        """See `Callbacks`: the signature of each metric that sacreBLEU computes.

        Args:
            metrics: names of metrics.
            several: whether texts have several references.
        """
        signatures = text_signatures(several, self.metric_tokenization)
        return {f"{name}_signature": signatures[name] for name in metrics if name in signatures}


@part
class CaptionScoring:
    """Caption metrics: their tokenizer, by default chosen by the script of dev's references."""

    metric_tokenization: str = option(
        "tokenizer for metrics, words (ptb) or characters (char); auto: by the script of dev's "
        "captions",
        default=AUTO,
        choices=CAPTION_TOKENIZATIONS,
    )
    meteor: bool = option("evaluate METEOR too, where Java is present", default=True)

    def resolve_auto(self, references: Iterable[str]) -> "CaptionScoring":
        """With the tokenizer that references choose, where this one leaves it to them."""
        name = caption_tokenization(references, self.metric_tokenization)
        return replace(self, metric_tokenization=name)

    def notes(self) -> dict[str, str]:
        """See `Callbacks`: the tokenizer in words."""
        return {"tokenizer": TOKENIZER_NAMES[self.metric_tokenization]}

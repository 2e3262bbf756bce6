"""The Transformer on pairs of texts: translation, summaries, paraphrases, answers.

Command, English to German on Multi30k:
    keras-attn train translator_transformer --data multi30k --out runs/en-de \\
        --source-column en --target-column de
"""

from dataclasses import dataclass

from pipelines.text_to_text import TextToTextRecipe, option


@dataclass(frozen=True, kw_only=True)
class TranslatorTransformer(TextToTextRecipe):
    """A small Transformer, one shared vocabulary and one table of embeddings."""

    epochs: int = option(20, "passes over the training pairs")
    patience: int = option(5, "epochs without a better metric before training stops")
    warmup_steps: int = option(400, "optimizer steps of warm-up")


RECIPE = TranslatorTransformer

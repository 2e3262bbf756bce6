"""The Transformer on pairs of texts: translation, summaries, paraphrases, answers.

Command, English to German on Multi30k:
    keras-attn train translator_transformer --data multi30k --out runs/en-de \\
        --source-column en --target-column de

Expected: 38.7 BLEU on val and 38.4 on test_2016_flickr (sacreBLEU on raw text, beam 4), about an
hour on two CPU cores.
"""

from dataclasses import dataclass

from pipelines.text_to_text import TextToTextRecipe, option


@dataclass(frozen=True, kw_only=True)
class TranslatorTransformer(TextToTextRecipe):
    """A small Transformer, one shared vocabulary and one table of embeddings."""

    num_layers: int = option(4, "layers of the encoder, and of the decoder")
    hidden_dim: int = option(128, "width of the model")
    intermediate_dim: int = option(256, "width of the feed-forward layers")
    batch_tokens: int = option(2048, "tokens of one side in a batch, over all devices")
    learning_rate: float = option(2.5e-3, "peak learning rate")
    epochs: int = option(30, "passes over the training pairs")
    patience: int = option(8, "epochs without a better metric before training stops")
    warmup_steps: int = option(1600, "optimizer steps of warm-up")
    average: int = option(5, "last epochs whose mean weights are tried at the end; 1: none")


RECIPE = TranslatorTransformer

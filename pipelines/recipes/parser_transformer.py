"""The Transformer on constituency trees: sentences to their trees in brackets.

Command, on the CRAFT treebank:
    keras-attn train parser_transformer --data craft-treebank --out runs/parser

Expected: F1 74.7 on dev (EVALB with COLLINS.prm, beam 4; right-branching has 20.9); 20 to 40
minutes on two CPU cores.
"""

from dataclasses import dataclass

from pipelines.parsing import ParsingRecipe, option


@dataclass(frozen=True, kw_only=True)
class ParserTransformer(ParsingRecipe):
    """A small Transformer."""

    num_layers: int = option(3, "layers of the encoder, and of the decoder")
    hidden_dim: int = option(128, "width of the model")
    intermediate_dim: int = option(512, "width of the feed-forward layers")
    batch_tokens: int = option(1024, "tokens of one side in a batch, over all devices")
    learning_rate: float = option(2.5e-3, "peak learning rate")
    dropout: float = option(0.2, "dropout probability")
    label_smoothing: float = option(0.0, "probability spread over the vocabulary")
    epochs: int = option(8, "passes over the training trees")
    warmup_steps: int = option(1600, "optimizer steps of warm-up")
    average: int = option(3, "last epochs whose mean weights are tried at the end; 1: none")


RECIPE = ParserTransformer

"""A trained Transformer captioner goes on with a few hundred pictures of one's own.

Command:
    keras-attn train own_pictures_transformer --from MODEL --data my_pictures --out runs/mine

`--from` takes a run directory or a SavedModel, such as saved_models/flickr8k_captioner; sizes and
tokenizer are its own.
"""

from dataclasses import dataclass

from pipelines.recipe import option
from pipelines.recipes.flickr8k_transformer import Flickr8kTransformer


@dataclass(frozen=True, kw_only=True)
class OwnPicturesTransformer(Flickr8kTransformer):
    """Flickr8k's Transformer captioner at a small learning rate, for small data."""

    goes_on = True

    epochs: int = option(10, "passes over the training pictures")
    learning_rate: float = option(1e-4, "peak learning rate")
    warmup_steps: int = option(20, "optimizer steps of warm-up")
    average: int = option(1, "last epochs whose mean weights are tried at the end; 1: none")


RECIPE = OwnPicturesTransformer

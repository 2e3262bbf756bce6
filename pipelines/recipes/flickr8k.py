"""Show, Attend and Tell on photographs: EfficientNet-Lite0 features, soft attention, LSTM.

Command:
    keras-attn train flickr8k --data flickr8k --out runs/flickr8k

Time: about 45 minutes on two shared CPU cores, features (3 minutes, 840 MB of disk) included.
Expected on dev, beam 4: BLEU-4 20.3, CIDEr-D 0.471, METEOR 19.5; with `--context mean` 20.6, 0.483
and 19.5, `bottleneck` 19.9, 0.473 and 19.2, `hard` 16.3, 0.334 and 17.0.
"""

from dataclasses import dataclass

from pipelines.captioning import CaptioningRecipe
from pipelines.recipe import option


@dataclass(frozen=True, kw_only=True)
class Flickr8k(CaptioningRecipe):
    """Soft attention over the 7×7 grid of a frozen EfficientNet-Lite0."""

    vocabulary_size: int = option(3000, "most pieces that the tokenizer learns")
    lengths: tuple[int, ...] = option((14, 17, 20, 24, 30, 40), "bucket lengths in pieces")
    hidden_dim: int = option(384, "width of the LSTM")
    feature_dim: int = option(512, "width to which features are projected first; 0: as they are")
    epochs: int = option(8, "passes over the training pictures")
    dropout: float = option(0.4, "dropout probability")
    encoder_rate: float = option(0.1, "learning rate of the encoder, as a share of the rest's")


RECIPE = Flickr8k

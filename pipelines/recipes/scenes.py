"""Drawn scenes, trained from scratch: what `make demo` does.

Command:
    python -m pipelines.demo --out demo

Time: under 3 minutes on two CPU cores.
Expected on unseen scenes: 99 % of captions exactly right, pointing 99 %.
"""

from dataclasses import dataclass

from keras_attn.models.small_conv_encoder import SmallConvEncoder
from pipelines.captioning import CaptioningRecipe
from pipelines.recipe import option


@dataclass(frozen=True, kw_only=True)
class Scenes(CaptioningRecipe):
    """A small CNN and a small decoder, both from scratch; each scene has one caption."""

    image_size: int = option(64, "height and width of the picture in pixels")
    vocabulary_size: int = option(360, "most pieces that the tokenizer learns")
    batch_size: int = option(16, "pictures in a batch, over all devices")
    captions_per_picture: int = option(1, "captions of one picture in a batch row")
    lengths: tuple[int, ...] = option((6, 12, 18), "bucket lengths in pieces")
    embedding_dim: int = option(128, "width of embeddings and deep output")
    hidden_dim: int = option(128, "width of the LSTM")
    attention_dim: int = option(64, "width of the attention's hidden layer")
    dropout: float = option(0.0, "dropout probability")
    attention_penalty: float = option(0.0, "weight of the doubly stochastic penalty")
    fine_tune: bool = option(True, "train the encoder too (no feature cache)")
    epochs: int = option(3, "passes over the training pictures")
    learning_rate: float = option(3e-3, "peak learning rate")
    warmup_steps: int = option(100, "optimizer steps of warm-up")
    label_smoothing: float = option(0.0, "probability spread over the vocabulary")
    clip_norm: float = option(1.0, "largest norm of the global gradient")
    monitor: str = option("val_exact", "metric that picks the best epoch")
    patience: int = option(100, "epochs without a better metric before training stops")
    beam_width: int = option(3, "beam width in evaluation and export")

    def encoder(self):
        return SmallConvEncoder()


RECIPE = Scenes

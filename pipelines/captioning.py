"""The captioning recipe: what can be chosen, and the data, model and optimizer made from it."""

from dataclasses import dataclass, field, fields

import keras

from keras_attn.decoding import Beam
from keras_attn.models.attention_reader import AttentionReader
from keras_attn.models.caption_decoder import CaptionDecoder, CaptionDecoderConfig
from keras_attn.models.captioner import Captioner
from keras_attn.models.efficientnet_lite0_encoder import EfficientNetLite0Encoder
from keras_attn.models.fixed_readers import BottleneckReader, MeanReader
from keras_attn.models.hard_attention_reader import HardAttentionReader
from keras_attn.serving.pictures import PictureFormat
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.optimizers import ClippedAdam
from keras_attn.training.schedules import warmup_cosine
from pipelines.batches import CaptionBatches
from pipelines.choices import check_choices
from pipelines.records import (
    data_folder,
    listed_pictures,
    read_captions,
    split_pictures,
)


def option(default, text):
    """A field of a recipe with its line of help; the command line makes a flag of it."""
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, kw_only=True)
class CaptioningRecipe:
    """Show, Attend and Tell from a folder of captioned pictures. Subclass it to change parts.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    captions_file: str = option("auto", "file of captions; auto takes the one there is")
    image_column: str = option("auto", "column or key with the picture's name")
    caption_column: str = option("auto", "column or key with the caption")
    image_folder: str = option("images", "folder of the pictures, inside the data folder")
    tolerance: float = option(0.01, "share of unusable records above which training does not start")
    dev_share: float = option(0.1, "share of pictures for dev where no split files exist")
    test_share: float = option(0.1, "share of pictures for test where no split files exist")
    image_size: int = option(224, "height and width of the picture in pixels")
    fit: str = option("squash", "squash (change the aspect ratio) or crop (cut the center)")
    vocabulary_size: int = option(4000, "most pieces that the tokenizer learns")
    lowercase: bool = option(True, "put captions in lower case")
    batch_size: int = option(16, "pictures in a batch, over all devices")
    captions_per_picture: int = option(5, "captions of one picture in a batch row")
    lengths: tuple[int, ...] = option((16, 24, 40), "bucket lengths in pieces")
    embedding_units: int = option(256, "width of embeddings and deep output")
    hidden_units: int = option(512, "width of the LSTM")
    context: str = option("soft", "soft or hard attention, or none: mean (feature) or bottleneck")
    attention_units: int = option(256, "width of the attention's hidden layer")
    feature_units: int = option(0, "width to which features are projected first; 0: as they are")
    dropout: float = option(0.3, "dropout probability")
    attention_penalty: float = option(1.0, "weight of the doubly stochastic penalty (soft)")
    fine_tune: bool = option(False, "train the encoder too, without a feature cache")
    fine_tune_from: int = option(0, "step from which fine_tune trains it; until then, the cache")
    encoder_rate: float = option(1.0, "learning rate of the encoder, as a share of the rest's")
    epochs: int = option(10, "passes over the training pictures")
    learning_rate: float = option(1e-3, "peak learning rate")
    warmup_steps: int = option(200, "optimizer steps of warm-up")
    label_smoothing: float = option(0.1, "probability spread over the vocabulary")
    clip_norm: float = option(5.0, "largest norm of the global gradient")
    monitor: str = option("val_cider_d", "metric that picks the best epoch")
    patience: int = option(3, "epochs without a better metric before training stops")
    seed: int = option(0, "seed of weights, dropout and shuffling")
    beam_width: int = option(4, "beam width in evaluation and export")
    length_alpha: float = option(0.7, "exponent of GNMT's length penalty")

    def __post_init__(self):
        check_choices(self.values())

    def encoder(self):
        """The picture encoder, untrained or pretrained."""
        return EfficientNetLite0Encoder(weights="imagenet")

    def reader(self):
        """What the decoder reads of the picture at each step."""
        if self.context == "soft":
            return AttentionReader(self.attention_units)
        if self.context == "hard":
            return HardAttentionReader(self.attention_units, seed=self.seed)
        return MeanReader() if self.context == "mean" else BottleneckReader()

    def picture_format(self):
        """`PictureFormat` of training and serving."""
        return PictureFormat(self.image_size, self.image_size, self.fit)

    def model(self, vocabulary_size):
        """A built `Captioner` for a tokenizer's vocabulary."""
        keras.utils.set_random_seed(self.seed)
        encoder = self.encoder()
        encoder.trainable = self.fine_tune
        config = CaptionDecoderConfig(
            vocabulary_size=vocabulary_size,
            embedding_units=self.embedding_units,
            hidden_units=self.hidden_units,
            feature_units=self.feature_units or None,
            dropout=self.dropout,
        )
        decoder = CaptionDecoder(config, self.reader(), name="decoder")
        size = (self.image_size, self.image_size)
        penalty = self.attention_penalty if self.context == "soft" else 0.0
        model = Captioner(encoder, decoder, size, penalty, name="captioner")
        model.build()
        return model

    def optimizer(self, model, steps):
        """The optimizer for a training of `steps` steps."""
        warmup = min(self.warmup_steps, steps // 3)
        schedule = warmup_cosine(self.learning_rate, warmup, steps)
        slow = {"slow_rate": self.encoder_rate, "slow_from": self.fine_tune_from}
        return ClippedAdam(schedule, self.clip_norm, slow_layer=model.encoder.name, **slow)

    def compile(self, model, steps, **options):
        """Compiles a model with the recipe's optimizer, loss and metrics."""
        model.compile(
            optimizer=self.optimizer(model, steps),
            loss=TokenCrossEntropy(self.label_smoothing),
            weighted_metrics=[keras.metrics.SparseCategoricalAccuracy(name="token_accuracy")],
            **options,
        )

    def strategy(self):
        """The decoding strategy of evaluation and export."""
        return Beam(self.beam_width, self.length_alpha)

    def read(self, folder):
        """Reads and splits a data folder, or whatever else `read_captions` reads.

        Returns:
            splits: dict of lists of `CaptionedPicture`.
            skipped: list of `Skipped`.

        Raises:
            ValueError: more unusable records than `tolerance`.
        """
        found = self._found(folder)
        return self._split(folder, found), found.skipped

    def _found(self, folder):
        columns = (self.captions_file, self.image_column, self.caption_column, self.image_folder)
        found = read_captions(folder, *columns)
        if self.captions_file == "auto":
            print(f"captions: {found.source} ({found.form})")
        found.check(self.tolerance)
        return found

    def _split(self, folder, found):
        shares = (self.dev_share, self.test_share)
        return split_pictures(folder, found.pictures, *shares, found.unusable)

    def records(self, folder, split):
        """The pictures of one split: "train", "dev", "test", or the name of a split file.

        Raises:
            ValueError: no such split, or an empty one.
        """
        found = self._found(folder)
        splits = self._split(folder, found)
        if split not in splits:
            path = data_folder(folder) / f"{split}.txt"
            splits[split] = listed_pictures(path, found.pictures, found.unusable)
        if not splits[split]:
            raise ValueError(
                f"Expected pictures in the split {split!r} of {folder}. Received: none"
            )
        return splits[split]

    def tokenizer(self, records):
        """Learns the tokenizer from the captions of the training pictures."""
        texts = [caption for record in records for caption in record.captions]
        return Tokenizer.learn(texts, self.vocabulary_size, self.lowercase)

    def batches(self, tokenizer):
        """`CaptionBatches` with the recipe's shapes."""
        return CaptionBatches(
            tokenizer=tokenizer,
            picture_format=self.picture_format(),
            pictures=self.batch_size,
            captions=self.captions_per_picture,
            lengths=self.lengths,
            seed=self.seed,
        )

    def values(self):
        """The choices as a dict that JSON can hold."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

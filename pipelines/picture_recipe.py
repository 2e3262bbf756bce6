"""What captioning recipes have in common: all but the decoder."""

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import ClassVar

import keras

from keras_attn.evaluation.cider import ConsensusReward
from keras_attn.models.captioner import Captioner
from keras_attn.models.efficientnet_lite0_encoder import EfficientNetLite0Encoder
from keras_attn.serving.service import CaptionService
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.training.optimizers import ClippedAdam
from keras_attn.training.self_critical import SelfCritical
from pipelines.batches import CaptionBatches
from pipelines.caption_callbacks import caption_pictures, caption_scoring
from pipelines.caption_data import CaptionData
from pipelines.caption_evaluation import CaptionEvaluation
from pipelines.choices import monitors_of
from pipelines.picture_choices import PictureChoices
from pipelines.readers.record import AUTO
from pipelines.recipe import TARGET_TOKENIZER, option, picture_log
from pipelines.records import read_captions, split_pictures
from pipelines.search_recipe import SearchRecipe

GENERATION_METRICS = ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "cider_d", "rouge_l", "exact")
MONITORS = monitors_of(GENERATION_METRICS)


@dataclass(frozen=True, kw_only=True)
class PictureRecipe(PictureChoices, SearchRecipe):
    """Abstract: a captioner from a folder of captioned pictures.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    monitors = MONITORS
    settled: ClassVar[Sequence[str]] = ("image_size", "fit", "vocabulary_size", "lowercase")
    source: ClassVar[str]
    """Of the model, for its card."""

    captions_file: str = option(AUTO, "file of captions; auto takes the one there is")
    caption_column: str = option(AUTO, "column or key with the caption")
    batch_size: int = option(16, "pictures in a batch, over all devices")
    captions_per_picture: int = option(5, "captions of one picture in a batch row")
    fine_tune: bool = option(False, "train the encoder too, without a feature cache")
    fine_tune_from: int = option(
        0, "step from which fine_tune trains it; until then the cache, of whole pictures"
    )
    encoder_rate: float = option(1.0, "learning rate of the encoder, as a share of the rest's")
    no_repeat_ngram: int = option(
        0, "so many pieces in a row occur once in an answer; 0: any number of times"
    )
    self_critical: int = option(
        0, "captions sampled a picture and rewarded by CIDEr-D, once trained; 0: cross-entropy"
    )
    monitor: str = option("val_cider_d", "metric that picks the best epoch")

    def __post_init__(self):
        super().__post_init__()
        if self.fine_tune_from and not self.fine_tune:
            raise ValueError(
                "Expected fine_tune with fine_tune_from. Received: "
                f"fine_tune={self.fine_tune}, fine_tune_from={self.fine_tune_from}"
            )
        if self.self_critical and (self.self_critical < 2 or self.own_words):
            raise ValueError(
                "Expected self_critical >= 2 or 0, and own_words=0 with it. Received: "
                f"self_critical={self.self_critical}, own_words={self.own_words}"
            )

    def encoder(self):
        """The picture encoder, untrained or pretrained."""
        return EfficientNetLite0Encoder(weights="imagenet")

    @abc.abstractmethod
    def decoder(self, vocabulary_size):
        """The decoder, not built."""

    def penalty(self):
        """λ of the `Captioner`."""
        return 0.0

    def model(self, vocabulary_size):
        """A built `Captioner` for a tokenizer's vocabulary."""
        keras.utils.set_random_seed(self.seed)
        encoder = self.encoder()
        encoder.trainable = self.fine_tune
        size = (self.image_size, self.image_size)
        decoder = self.decoder(vocabulary_size)
        model = Captioner(encoder, decoder, size, self.penalty(), name="captioner")
        model.build()
        return model

    def optimizer(self, model, steps):
        """See `Recipe`."""
        slow = {"slow_rate": self.encoder_rate, "slow_from": self.fine_tune_from}
        slow["slow_layer"] = model.encoder.name
        return ClippedAdam(self.rates(steps), self.clip_norm, **slow)

    def stage(self, model, data, steps):
        """See `Recipe`: self-critical training, or as in `SearchRecipe`."""
        if not self.self_critical:
            return super().stage(model, data, steps)
        reward = ConsensusReward([one.captions for one in data.splits["train"]])
        length, samples = self.lengths[-1], self.self_critical
        return SelfCritical(model, reward, data.tokenizer, samples, length, self.seed)

    def thaw_step(self):
        """See `Recipe`."""
        return self.fine_tune_from if self.fine_tune else 0

    def load(self, data, cache=None, source=None, replicas=1):
        """See `Recipe`."""
        given = (source.tokenizers[TARGET_TOKENIZER], source.model.encoder) if source else ()
        return CaptionData.load(self, data, cache, *given)

    def vocabulary_sizes(self, model):
        """See `Recipe`."""
        return {TARGET_TOKENIZER: model.decoder.config.vocabulary_size}

    def service(self, model, tokenizers: Mapping[str, Tokenizer], beam_width=None, n_best=1):
        """See `Recipe`."""
        strategy = self.beam(beam_width, n_best)
        tokenizer = tokenizers[TARGET_TOKENIZER]
        return CaptionService(
            model, tokenizer, strategy, self.lengths[-1], self.fit, self.no_repeat_ngram
        )

    def scoring(self, model, data):
        """See `Recipe`."""
        return [caption_scoring(model, data, self.lengths[-1])]

    def pictures(self, model, data, folder):
        """See `Recipe`."""
        return [caption_pictures(model, data, self.lengths[-1], self.fit, picture_log(folder))]

    def found(self, data):
        """See `PictureChoices`."""
        columns = (self.captions_file, self.image_column, self.caption_column, self.image_folder)
        found = read_captions(data, *columns)
        if self.captions_file == AUTO:
            print(f"captions: {found.source} ({found.form})")
        found.check(self.tolerance)
        return found

    def split(self, data, found):
        """See `PictureChoices`."""
        shares = (self.dev_share, self.test_share)
        return split_pictures(data, found.pictures, *shares, found.unusable)

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
            augmentation=self.augmentation(),
            seed=self.seed,
        )

    def text_evaluation(self, records, texts, scores, tokenizers, **facts):
        """See `SearchRecipe`."""
        tokenizer = tokenizers[TARGET_TOKENIZER]
        return CaptionEvaluation.of(records, texts, scores, tokenizer, **facts)

    def card(self, service):
        """See `Recipe`."""
        pictures, heads = service.picture_format, ""
        if "attention" in service.signatures():
            heads = " `attention`: image to the best text and the weights of every layer and head."
        return {
            "What it does": f"Describes a picture in a sentence ({self.source}): "
            f"{type(service.model.encoder).__name__}, {service.model.count_params():,} parameters, "
            f"exported {date.today().isoformat()}.",
            "Service": "Signature `serving_default`: image (encoded bytes) to text, score (nats), "
            "error. `explain`: also tokens, pieces, token_scores, weights. `score`: image and "
            "caption to score (log-probability in nats), token_scores, error."
            f"{heads} Pictures are fitted to {pictures.height}×{pictures.width} by {pictures.fit}.",
            "License": "Code: Apache-2.0. The weights carry the terms of the data they were "
            "trained on, and of the pretrained encoder where there is one.",
        }

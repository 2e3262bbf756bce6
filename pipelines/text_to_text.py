"""The recipe from text to text: what can be chosen, and data, model and optimizer made from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import keras

from keras_attn.decoding import Beam, Greedy
from keras_attn.layers.residual import POST, PRE
from keras_attn.models.transformer import Transformer
from keras_attn.models.transformer_config import ALL, DECODER, TransformerConfig
from keras_attn.serving.text_service import LENGTH_EXTRA, LENGTH_FACTOR, TextService
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.training.optimizers import ClippedAdam
from pipelines.choices import increasing, monitors_of
from pipelines.pair_batches import PairBatches
from pipelines.pair_splits import PairSplits
from pipelines.readers.pair_reader import pair_sources
from pipelines.recipe import SOURCE_TOKENIZER, TARGET_TOKENIZER, Recipe, option
from pipelines.text_callbacks import alignment_pictures, text_scoring
from pipelines.text_data import SHARED, VOCABULARIES, TextData
from pipelines.text_evaluation import TextEvaluation

MONITORS = monitors_of(("bleu", "chrf", "bleu_lowercase", "exact"))


@dataclass(frozen=True, kw_only=True)
class TextToTextRecipe(Recipe):
    """A Transformer from pairs of texts. Subclass it to change parts.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    kind = "text_to_text"
    unit = "pairs"
    monitors = MONITORS
    chosen = {"vocabulary": VOCABULARIES, "norm": (PRE, POST)}
    settled = (
        "vocabulary_size",
        "vocabulary",
        "lowercase",
        "layers",
        "model_units",
        "hidden_units",
        "heads",
        "norm",
    )

    source_column: str = option("auto", "language suffix, column or key of the source")
    target_column: str = option("auto", "language suffix, column or key of the target")
    vocabulary: str = option(SHARED, "one tokenizer for both sides (shared) or two (separate)")
    vocabulary_size: int = option(8000, "most pieces that a tokenizer learns")
    lowercase: bool = option(False, "put texts in lower case")
    lengths: tuple[int, ...] = option((12, 16, 20, 24, 32, 48, 96), "target's bucket lengths")
    source_lengths: tuple[int, ...] = option((), "source's bucket lengths; none: as the target's")
    batch_tokens: int = option(4096, "tokens of one side in a batch, over all devices")
    layers: int = option(3, "layers of the encoder, and of the decoder")
    model_units: int = option(256, "width of the model")
    hidden_units: int = option(1024, "width of the feed-forward layers")
    heads: int = option(4, "attention heads")
    norm: str = option(PRE, "pre or post: where the layer normalization is")
    weight_dropout: float = option(0.0, "dropout probability of attention weights")
    monitor: str = option("val_bleu", "metric that picks the best epoch")
    length_alpha: float = option(0.6, "exponent of GNMT's length penalty")

    def __post_init__(self):
        super().__post_init__()
        if self.model_units % self.heads:
            raise ValueError(
                "Expected model_units that heads divide. "
                f"Received: model_units={self.model_units}, heads={self.heads}"
            )
        own = self.source_lengths
        if own and not (increasing(own) and len(own) == len(self.lengths)):
            raise ValueError(
                f"Expected source_lengths increasing and >= 1, as many as lengths={self.lengths}. "
                f"Received: source_lengths={own}"
            )

    def splits(self, data) -> PairSplits:
        """`PairSplits` of a data folder, or of whatever else `pair_sources` finds pairs in."""
        sources = pair_sources(data, self.source_column, self.target_column)
        return PairSplits(sources, self.tolerance, self.dev_share, self.test_share)

    def batches(self, tokenizers: Mapping[str, Tokenizer], replicas: int = 1) -> PairBatches:
        """`PairBatches` with the recipe's shapes."""
        target = tokenizers[TARGET_TOKENIZER]
        return PairBatches(
            tokenizer=target,
            source_tokenizer=tokenizers.get(SOURCE_TOKENIZER, target),
            source_lengths=self.source_lengths or self.lengths,
            target_lengths=self.lengths,
            tokens=self.batch_tokens,
            replicas=replicas,
            seed=self.seed,
        )

    def load(self, data, cache=None, source=None, replicas=1):
        """See `Recipe`; there is nothing to cache."""
        return TextData.load(self, data, source.tokenizers if source else None, replicas)

    def model(self, vocabulary_size, source_vocabulary_size=None):
        """A built `Transformer`; without a size of the source's own, one table for everything."""
        keras.utils.set_random_seed(self.seed)
        units = self.model_units // self.heads
        config = TransformerConfig(
            vocabulary_size=source_vocabulary_size or vocabulary_size,
            target_vocabulary_size=vocabulary_size,
            layers=self.layers,
            model_units=self.model_units,
            hidden_units=self.hidden_units,
            heads=self.heads,
            key_units=units,
            value_units=units,
            dropout=self.dropout,
            weight_dropout=self.weight_dropout,
            norm=self.norm,
            tied=DECODER if source_vocabulary_size else ALL,
        )
        model = Transformer(config, name="transformer")
        model.build()
        return model

    def optimizer(self, model, steps):
        """See `Recipe`: Adam with the paper's β₂ and ε."""
        return ClippedAdam(self.rates(steps), self.clip_norm, beta_2=0.98, epsilon=1e-9)

    def thaw_step(self):
        """See `Recipe`: everything trains from the start."""
        return 0

    def vocabulary_sizes(self, model):
        """See `Recipe`."""
        config = model.config
        return {TARGET_TOKENIZER: config.target_size, SOURCE_TOKENIZER: config.vocabulary_size}

    def service(self, model, tokenizers, beam_width, n_best=1):
        """See `Recipe`."""
        strategy = Beam(beam_width, self.length_alpha, n_best)
        return self._service(model, tokenizers, strategy)

    def scoring(self, model, data):
        """See `Recipe`."""
        return [text_scoring(model, data)]

    def pictures(self, model, data, log):
        """See `Recipe`."""
        service = self._service(model, data.tokenizers, Greedy())
        return [alignment_pictures(model, data, service, log)]

    def records(self, data, split):
        """See `Recipe`."""
        return self.splits(data).pairs(split)

    def asked(self, record):
        """See `Recipe`."""
        return f"{record.source!r:.80}", record.source.encode()

    def size(self, record):
        """See `Recipe`: characters of the source."""
        return len(record.source)

    def evaluation(self, records, texts, scores, service, **facts):
        """See `Recipe`."""
        return TextEvaluation.of(records, texts, scores, **facts)

    def card(self, service):
        """See `Recipe`."""
        config = service.model.config
        return {
            "What it does": "Writes a text for a text: a Transformer of "
            f"{config.layers} + {config.layers} layers, width {config.model_units}, "
            f"{service.model.count_params():,} parameters, exported {date.today().isoformat()}.",
            "Service": "Signature `serving_default`: source (UTF-8) to text, score (nats), error. "
            "`explain`: also source_pieces, tokens, pieces, token_scores, weights (the last "
            "layer's, mean over its heads). `score`: source and target to score (log-probability "
            "in nats), token_scores, error. `attention`: source to the best text and the weights "
            f"of every layer and head. A source has at most {service.max_source} pieces, an "
            f"answer at most {LENGTH_FACTOR} times the source's and {LENGTH_EXTRA} more.",
            "License": "Code: Apache-2.0. The weights carry the terms of the data they were "
            "trained on.",
        }

    def _service(self, model, tokenizers, strategy):
        source = self.source_lengths or self.lengths
        return TextService(
            model=model,
            tokenizer=tokenizers[TARGET_TOKENIZER],
            strategy=strategy,
            max_length=self.lengths[-1],
            max_source=source[-1],
            source_tokenizer=tokenizers.get(SOURCE_TOKENIZER),
        )

"""The recipe from text to text: what can be chosen, and data, model and optimizer made from it."""

from dataclasses import dataclass
from datetime import date

import keras

from keras_attn.decoding import Greedy
from keras_attn.models.transformer import Transformer
from keras_attn.serving.text_service import LENGTH_EXTRA, LENGTH_FACTOR, TextService
from keras_attn.text.tokenizer import Tokenizer
from pipelines.choices import monitors_of
from pipelines.pair_encoding import TextEncoding
from pipelines.pair_recipe import PairRecipe
from pipelines.pair_splits import PairSplits
from pipelines.readers.pair_reader import pair_sources
from pipelines.recipe import SOURCE_TOKENIZER, TARGET_TOKENIZER, option, picture_log
from pipelines.text_callbacks import alignment_pictures, text_scoring
from pipelines.text_evaluation import TextEvaluation

SHARED, SEPARATE = VOCABULARIES = ("shared", "separate")
MONITORS = monitors_of(("bleu", "chrf", "bleu_lowercase", "exact"))


@dataclass(frozen=True, kw_only=True)
class TextToTextRecipe(PairRecipe):
    """A Transformer from pairs of texts. Subclass it to change parts.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    kind = "text_to_text"
    monitors = MONITORS
    chosen = {**PairRecipe.chosen, "vocabulary": VOCABULARIES}

    source_column: str = option("auto", "language suffix, column or key of the source")
    target_column: str = option("auto", "language suffix, column or key of the target")
    vocabulary: str = option(SHARED, "one tokenizer for both sides (shared) or two (separate)")
    monitor: str = option("val_bleu", "metric that picks the best epoch")
    length_alpha: float = option(0.6, "exponent of GNMT's length penalty")

    def splits(self, data):
        """See `PairRecipe`: all that `pair_sources` finds pairs in."""
        sources = pair_sources(data, self.source_column, self.target_column)
        return PairSplits(sources, self.tolerance, self.dev_share, self.test_share)

    def learned(self, pairs):
        """See `PairRecipe`: tokenizers, one of both sides or one of each."""
        sources, targets = [one.source for one in pairs], [one.target for one in pairs]

        def learn(texts):
            return Tokenizer.learn(texts, self.vocabulary_size, self.lowercase)

        if self.vocabulary == SHARED:
            return {TARGET_TOKENIZER: learn(sources + targets)}
        return {TARGET_TOKENIZER: learn(targets), SOURCE_TOKENIZER: learn(sources)}

    def encoding(self, tokenizers):
        """See `PairRecipe`."""
        target = tokenizers[TARGET_TOKENIZER]
        return TextEncoding(target, tokenizers.get(SOURCE_TOKENIZER, target))

    def model(self, vocabulary_size, source_vocabulary_size=None):
        """A built `Transformer`."""
        keras.utils.set_random_seed(self.seed)
        config = self.config(vocabulary_size, source_vocabulary_size)
        model = Transformer(config, name="transformer")
        model.build()
        return model

    def vocabulary_sizes(self, model):
        """See `Recipe`."""
        config = model.config
        return {TARGET_TOKENIZER: config.target_size, SOURCE_TOKENIZER: config.vocabulary_size}

    def service(self, model, tokenizers, beam_width=None, n_best=1):
        """See `Recipe`."""
        return self._service(model, tokenizers, self.beam(beam_width, n_best))

    def scoring(self, model, data):
        """See `Recipe`."""
        return [text_scoring(model, data)]

    def pictures(self, model, data, folder):
        """See `Recipe`."""
        service = self._service(model, data.tokenizers, Greedy())
        return [alignment_pictures(model, data, service, picture_log(folder))]

    def text_evaluation(self, records, texts, scores, tokenizers, **facts):
        """See `SearchRecipe`."""
        return TextEvaluation.of(records, texts, scores, **facts)

    def card(self, service):
        """See `Recipe`."""
        config = service.model.config
        return {
            "What it does": "Writes a text for a text: a Transformer of "
            f"{config.num_layers} + {config.num_layers} layers, width {config.hidden_dim}, "
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
        return TextService(
            model=model,
            tokenizer=tokenizers[TARGET_TOKENIZER],
            strategy=strategy,
            max_length=self.lengths[-1],
            max_source=self.longest_source,
            source_tokenizer=tokenizers.get(SOURCE_TOKENIZER),
        )

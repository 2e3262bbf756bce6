"""The recipe for parsers: what can be chosen, and data, model and optimizer made from it."""

from dataclasses import dataclass, replace
from datetime import date

import keras

from keras_attn.contracts import LOGITS, TAG_LOGITS
from keras_attn.decoding import Greedy
from keras_attn.models.parser import Parser
from keras_attn.serving.parser_service import (
    LENGTH_EXTRA,
    LENGTH_FACTOR,
    ParserService,
)
from keras_attn.serving.sources import MOST_BYTES
from keras_attn.text.linearization import WORD, chain_counts, linearize
from keras_attn.text.symbol_table import SPECIAL_SYMBOLS, SymbolTable
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.text.trees import DEEPEST, depth
from pipelines.choices import monitors_of
from pipelines.pair_recipe import PairRecipe
from pipelines.pair_splits import PairSplits
from pipelines.readers.tree_reader import tree_sources
from pipelines.recipe import SOURCE_TOKENIZER, TAG_TABLE, TARGET_TOKENIZER, option, picture_log
from pipelines.tree_callbacks import TreeScores, tree_pictures
from pipelines.tree_encoding import TreeEncoding
from pipelines.tree_evaluation import TreeEvaluation

WORD_ID = SPECIAL_SYMBOLS
"""Of the symbol of a word, the first in its table."""
SCORES = ("f1", "precision", "recall", "exact", "tagging")


@dataclass(frozen=True, kw_only=True)
class ParsingRecipe(PairRecipe):
    """A Transformer from sentences to their constituency trees. Subclass it to change parts.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    kind = "parsing"
    vocabularies = {
        TARGET_TOKENIZER: SymbolTable,
        SOURCE_TOKENIZER: Tokenizer,
        TAG_TABLE: SymbolTable,
    }
    monitors = monitors_of(SCORES)
    outputs = (LOGITS, TAG_LOGITS)
    settled = (*PairRecipe.settled, "word_pieces")

    lengths: tuple[int, ...] = option(
        (16, 32, 48, 64, 80, 96, 112, 128, 160, 224, 448, 1024), "bucket lengths in symbols"
    )
    source_lengths: tuple[int, ...] = option(
        (9, 16, 23, 30, 36, 43, 50, 57, 71, 100, 200, 448), "bucket lengths in words, the end one"
    )
    word_pieces: int = option(8, "pieces of a word that are read, the first")
    longest_chain: int = option(3, "most constituents around the same words and nothing else")
    deepest: int = option(32, "most constituents inside each other")
    scored: int = option(500, "trees of dev that are scored after each epoch")
    monitor: str = option("val_f1", "metric that picks the best epoch")
    length_alpha: float = option(0.0, "exponent of GNMT's length penalty")

    def __post_init__(self):
        super().__post_init__()
        if self.deepest > DEEPEST:
            raise ValueError(
                f"Expected deepest <= {DEEPEST}, as in what is read. "
                f"Received: deepest={self.deepest}"
            )
        if self.lengths[-1] < self.longest_source + 2:
            raise ValueError(
                "Expected the last of lengths >= the last of source_lengths + 2, which is room for "
                "a tree over as many words. "
                f"Received: lengths={self.lengths}, source_lengths={self.source_lengths}"
            )

    def splits(self, data):
        """See `PairRecipe`: all that `tree_sources` finds."""
        return PairSplits(tree_sources(data), self.tolerance, self.dev_share, self.test_share)

    def unusable(self, pair):
        """See `PairRecipe`: trees that the search would never write."""
        chain, levels = max(chain_counts([pair.target]), default=0), depth(pair.target)
        if chain > self.longest_chain:
            return f"a chain of {chain} constituents (expected at most {self.longest_chain})"
        if levels > self.deepest:
            return f"{levels} constituents inside each other (expected at most {self.deepest})"
        row, size = linearize(pair.target), len(pair.source.encode())
        most = LENGTH_FACTOR * len(row.words) + LENGTH_EXTRA
        if len(row.symbols) >= most:
            return f"{len(row.symbols)} symbols for {len(row.words)} words (expected under {most})"
        if size > MOST_BYTES:
            return f"a sentence of {size} bytes (expected at most {MOST_BYTES})"
        return ""

    def unknown(self, pair, tokenizers):
        """See `PairRecipe`: labels and tags."""
        row = linearize(pair.target)
        strange = {one[1:] for one in set(row.symbols) - set(tokenizers[TARGET_TOKENIZER].symbols)}
        strange |= set(row.tags) - set(tokenizers[TAG_TABLE].symbols)
        return f"labels or tags that are not known: {', '.join(sorted(strange))}" if strange else ""

    def learned(self, pairs):
        """See `PairRecipe`: symbols of the trees, pieces of the words, tags."""
        rows = [linearize(pair.target) for pair in pairs]
        texts = [pair.source for pair in pairs]
        symbols = {symbol for row in rows for symbol in row.symbols}
        if symbols == {WORD}:
            raise ValueError("Expected trees with constituents. Received: words alone")
        return {
            TARGET_TOKENIZER: SymbolTable([WORD, *sorted(symbols - {WORD})]),
            SOURCE_TOKENIZER: Tokenizer.learn(texts, self.vocabulary_size, self.lowercase),
            TAG_TABLE: SymbolTable(sorted({tag for row in rows for tag in row.tags})),
        }

    def encoding(self, tokenizers):
        """See `PairRecipe`."""
        return TreeEncoding(*(tokenizers[name] for name in self.vocabularies), self.word_pieces)

    def model(self, symbols, pieces, tags):
        """A built `Parser`."""
        keras.utils.set_random_seed(self.seed)
        config = replace(self.config(symbols, pieces), counted_token=WORD_ID)
        model = Parser(config, tags, name="parser")
        model.build()
        return model

    def vocabulary_sizes(self, model):
        """See `Recipe`."""
        return {
            TARGET_TOKENIZER: model.config.target_size,
            SOURCE_TOKENIZER: model.config.vocabulary_size,
            TAG_TABLE: model.tags,
        }

    def service(self, model, tokenizers, beam_width=None, n_best=1):
        """See `Recipe`."""
        return self._service(model, tokenizers, self.beam(beam_width, n_best))

    def scoring(self, model, data):
        """See `Recipe`: of `scored` trees, evenly out of those of dev that are not too long."""
        service = self._service(model, data.tokenizers, Greedy())
        pairs = data.fitting("dev")
        return [TreeScores(service, pairs[:: -(-len(pairs) // self.scored)], SCORES)]

    def pictures(self, model, data, folder):
        """See `Recipe`."""
        service = self._service(model, data.tokenizers, Greedy())
        return [tree_pictures(service, data.fitting("dev"), picture_log(folder))]

    def text_evaluation(self, records, texts, scores, tokenizers, **facts):
        """See `SearchRecipe`."""
        return TreeEvaluation.of(records, texts, scores, **facts)

    def card(self, service):
        """See `Recipe`."""
        config = service.model.config
        return {
            "What it does": "Writes the constituency tree of a sentence in brackets: a Transformer "
            f"of {config.num_layers} + {config.num_layers} layers, width {config.hidden_dim}, "
            f"{service.model.count_params():,} parameters, exported {date.today().isoformat()}.",
            "Service": "Signature `serving_default`: source (UTF-8; words and punctuation marks "
            "with a space between them) to text (a tree in brackets over exactly these words; "
            "round brackets become -LRB- and -RRB-), score (nats), error. `explain`: also tags, "
            "source_pieces (the words), tokens, pieces (the symbols), token_scores, weights (the "
            "last layer's, mean over its heads, by word). `attention`: source to the best text and "
            f"the weights of every layer and head. A sentence has at most {service.max_source - 1} "
            f"words, a tree at most {LENGTH_FACTOR} times as many symbols as "
            f"words and {LENGTH_EXTRA} more, with at most {service.longest_chain} constituents "
            f"around the same words and {service.deepest} inside each other.",
            "License": "Code: Apache-2.0. The weights carry the terms of the data they were "
            "trained on.",
        }

    def _service(self, model, tokenizers, strategy):
        return ParserService(
            model=model,
            symbols=tokenizers[TARGET_TOKENIZER],
            tokenizer=tokenizers[SOURCE_TOKENIZER],
            tags=tokenizers[TAG_TABLE],
            strategy=strategy,
            max_length=self.lengths[-1],
            max_source=self.longest_source,
            word_pieces=self.word_pieces,
            longest_chain=self.longest_chain,
            deepest=self.deepest,
        )

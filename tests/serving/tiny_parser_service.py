"""A tiny untrained parser's service, for tests of serving."""

import keras

from keras_attn.decoding import Beam
from keras_attn.models.parser.parser import Parser
from keras_attn.models.transformer.transformer_config import DECODER, TransformerConfig
from keras_attn.serving import AnswerLength, GenerationService
from keras_attn.serving.readers import SentenceReader
from keras_attn.serving.views import TREE_VIEWS
from keras_attn.serving.writers import BracketWriter
from keras_attn.text.symbol_table import SymbolTable
from keras_attn.text.tokenizer import Tokenizer

LENGTH, LONGEST_SENTENCE = 31, 12
SYMBOLS = ("XX", "(NP", "(S", ")NP", ")S")
TAGS = ("NN", "VB", ",", "-LRB-")
CHAIN, DEEPEST = 2, 5


def parser_service(strategy=None, max_length=LENGTH):
    """A service with random weights."""
    keras.utils.set_random_seed(3)
    symbols, tags = SymbolTable(SYMBOLS), SymbolTable(TAGS)
    tokenizer = Tokenizer.learn(["the cell grows", "a mouse"], 285)
    sizes = (tokenizer.vocabulary_size, symbols.vocabulary_size)
    config = TransformerConfig(
        *sizes,
        2,
        14,
        11,
        2,
        7,
        7,
        normalize_first=True,
        tied=DECODER,
    )
    model = Parser(config, tags.vocabulary_size, counted_token=symbols.id_of("XX"))
    model.build()
    strategy = strategy or Beam(3, 0.0, n_best=2)
    return GenerationService(
        model,
        SentenceReader(tokenizer, LONGEST_SENTENCE, 3),
        BracketWriter(symbols, tags, CHAIN, DEEPEST),
        strategy,
        AnswerLength.of_trees(max_length, LONGEST_SENTENCE),
        {"tokenizer": symbols, "source_tokenizer": tokenizer, "tags": tags},
        TREE_VIEWS,
    )

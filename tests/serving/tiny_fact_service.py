"""A tiny untrained service of facts, for tests of serving."""

from keras_attn.decoding import Beam
from keras_attn.serving import AnswerLength, GenerationService
from keras_attn.serving.readers import FactReader
from keras_attn.serving.views import FACT_VIEWS
from keras_attn.serving.writers import SlotWriter
from keras_attn.text.slot_tokenizer import SlotTokenizer
from keras_attn.text.symbol_table import SymbolTable
from keras_attn.text.tokenizer import Tokenizer
from tests.models.tiny_data_to_text import data_to_text

LENGTH, LONGEST_SOURCE, MOST_FACTS = 13, 60, 5
TEXTS = ("Ada Low was born in Arden in 1815.", "Ben Moss works on optics.", "birth place field")


def fact_service(strategy=None, slots=7):
    """A service with random weights."""
    tokenizer = SlotTokenizer(Tokenizer.learn(TEXTS, 310), slots)
    fields = SymbolTable(["birth_place", "birth_year", "field"])
    model = data_to_text(3, tokenizer.vocabulary_size, fields.vocabulary_size)
    strategy = strategy or Beam(3, 0.6, n_best=2)
    return GenerationService(
        model,
        FactReader(tokenizer, fields, LONGEST_SOURCE, MOST_FACTS),
        SlotWriter(tokenizer),
        strategy,
        AnswerLength.of_texts(LENGTH),
        {"tokenizer": tokenizer, "fields": fields},
        FACT_VIEWS,
    )

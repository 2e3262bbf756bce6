"""Symbols to ids and back, on disk and in a graph."""

import json

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import END_ID, PAD_ID, START_ID, UNKNOWN_ID
from keras_attn.text.symbol_table import SPECIAL_SYMBOLS, SymbolTable

SYMBOLS = ("XX", "(NP", ")NP", "(\u2009☂")


@pytest.fixture
def table():
    return SymbolTable(SYMBOLS)


def test_there_and_back(table):
    assert table.vocabulary_size == SPECIAL_SYMBOLS + len(SYMBOLS)
    texts = ["(NP XX )NP", "", " XX\t(\u2009☂ \n", "(NP what"]
    ids = table.encode(texts)
    assert ids.to_list() == table.encode_all(texts) == [[5, 4, 6], [], [4, 7], [5, UNKNOWN_ID]]
    assert [table.id_of(symbol) for symbol in SYMBOLS] == [4, 5, 6, 7]
    assert table.id_of("(VP") is None
    back = [text.decode() for text in table.decode(ids.to_tensor(PAD_ID)).numpy()]
    assert back == ["(NP XX )NP", "", "XX (\u2009☂", "(NP"]
    assert back == [text.decode() for text in table.normalize(tf.constant(back)).numpy()]


def test_decoding_stops_at_the_end_and_leaves_out_what_is_none(table):
    tokens = [[[START_ID, 5, UNKNOWN_ID, 4, END_ID, 4], [99, -1, 6, PAD_ID, PAD_ID, 5]]]
    assert table.decode(tokens).numpy().tolist() == [[b"(NP XX", b")NP (NP"]]
    assert table.decode_all(tokens[0]) == ["(NP XX", ")NP (NP"]
    assert table.pieces(tokens).numpy().tolist() == [
        [[b"", b"(NP", b"", b"XX", b"", b"XX"], [b"", b"", b")NP", b"", b"", b"(NP"]]
    ]
    assert table.decode(np.zeros((2, 0), "int32")).numpy().tolist() == [b"", b""]


def test_saved_and_loaded(table, tmp_path):
    table.save(tmp_path / "symbols")
    again = SymbolTable.load(tmp_path / "symbols")
    assert table.equals(again)
    assert not table.equals(SymbolTable(SYMBOLS[::-1])) and not table.equals(None)


@pytest.mark.parametrize("content", ["", "{}", '{"symbols": 3}', '{"symbols": [1]}', "[]"])
def test_damaged_files(tmp_path, content):
    (tmp_path / "symbols.json").write_text(content)
    with pytest.raises(ValueError, match=r"Expected symbols in .*symbols\.json. Received: "):
        SymbolTable.load(tmp_path)


@pytest.mark.parametrize(
    ("symbols", "message"),
    [
        ((), "Expected symbols, each once"),
        (("XX", "XX"), "Expected symbols, each once"),
        (("XX", "a b"), r"without white space. Received: \['a b'\]"),
        (("", "XX"), r"without white space. Received: \[''\]"),
    ],
)
def test_bad_symbols(symbols, message):
    with pytest.raises(ValueError, match=message):
        SymbolTable(symbols)


def test_symbols_json_is_readable(table, tmp_path):
    table.save(tmp_path)
    assert json.loads((tmp_path / "symbols.json").read_text()) == {"symbols": list(SYMBOLS)}

"""The automaton allows a symbol if and only if some whole tree goes on with it."""

import numpy as np
import pytest
from keras import ops

from keras_attn.contracts import END_ID, PAD_ID
from keras_attn.decoding import DEAD, Beam, Greedy, Sampling, WellFormedTree, decode
from keras_attn.text.linearization import WORD as WORD_SYMBOL
from keras_attn.text.linearization import linearize
from keras_attn.text.symbol_table import SPECIAL_SYMBOLS, SymbolTable
from keras_attn_pipelines.data.readers.tree_reader import read_trees
from tests.reference.decoding import TableStepper
from tests.reference.well_formed import whole_trees

OPENINGS, CLOSINGS, WORD = (4, 6), (5, 7), 8
SYMBOLS = (*OPENINGS, *CLOSINGS, WORD)
VOCABULARY = 11


def constraint(words, lengths, chain, deepest):
    return WellFormedTree(OPENINGS, CLOSINGS, WORD, words, lengths, chain, deepest)


@pytest.mark.parametrize(
    ("words", "chain", "deepest", "length"),
    [
        (0, 2, 3, 5),
        (1, 1, 3, 9),
        (1, 3, 4, 9),
        (2, 1, 4, 12),
        (2, 2, 4, 8),
        (2, 2, 4, 11),
        (3, 1, 3, 11),
        (3, 1, 5, 9),
        (3, 2, 3, 10),
    ],
)
def test_every_whole_tree_and_nothing_else(words, chain, deepest, length):
    trees = whole_trees(OPENINGS, CLOSINGS, WORD, words, chain, deepest, length)
    going_on: dict[tuple[int, ...], set[int]] = {}
    for tree in trees:
        for place, symbol in enumerate(tree):
            going_on.setdefault(tree[:place], set()).add(symbol)
    limits = constraint([words], [length], chain, deepest)
    level = {(): limits.start(1, VOCABULARY, length)}
    seen = 0
    while level:
        prefixes = sorted(level)
        state = type(level[prefixes[0]])(
            *(ops.concatenate(part) for part in zip(*(level[prefix] for prefix in prefixes)))
        )
        masked = limits.mask(ops.zeros((len(prefixes), VOCABULARY)), state)
        allowed = ops.convert_to_numpy(masked) > DEAD / 2
        level = {}
        for row, prefix in enumerate(prefixes):
            assert set(np.flatnonzero(allowed[row]).tolist()) == going_on[prefix], prefix
            seen += 1
        for symbol in SYMBOLS:
            after = limits.update(state, ops.full((len(prefixes),), symbol, dtype="int32"))
            after = [ops.convert_to_numpy(array) for array in after]
            for row, prefix in enumerate(prefixes):
                if symbol in going_on[prefix]:
                    level[(*prefix, symbol)] = type(state)(*(part[row : row + 1] for part in after))
    assert seen == len(going_on) > 0


@pytest.mark.parametrize(
    "strategy",
    [Greedy(), Beam(3, 0.6, 3), Sampling(1.3, n=2, seed=3)],
    ids=lambda s: type(s).__name__,
)
def test_answers_of_every_strategy_are_trees(strategy):
    words, lengths = [3, 1, 0], [13, 7, 5]
    stepper = TableStepper(VOCABULARY, 3, 5, -2.0)
    context = np.array([0, 1, 0], "int32")
    limits = [constraint(words, lengths, 2, 4)]
    result = decode(stepper, context, strategy, 13, constraints=limits)
    tokens, counts = (ops.convert_to_numpy(array) for array in (result.tokens, result.lengths))
    for row in range(3):
        trees = whole_trees(OPENINGS, CLOSINGS, WORD, words[row], 2, 4, lengths[row])
        answers = [tuple(tokens[row, n, :count].tolist()) for n, count in enumerate(counts[row])]
        assert answers[0] and all(answer in trees for answer in answers if answer)
        if words[row] == 0:
            assert answers[0] == (END_ID,)


def test_what_has_ended_stays_as_it_is():
    limits = constraint([1, 2], [7, 7], 2, 3)
    state = limits.start(2, VOCABULARY, 7)
    for tokens in ([WORD, 4], [END_ID, WORD], [PAD_ID, WORD], [PAD_ID, 5]):
        state = limits.update(state, ops.array(tokens, "int32"))
    assert ops.convert_to_numpy(state.depth).tolist() == [0, 0]
    allowed = ops.convert_to_numpy(limits.mask(ops.zeros((2, VOCABULARY)), state)) > DEAD / 2
    assert [np.flatnonzero(row).tolist() for row in allowed] == [[END_ID], [END_ID]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((), (), 8, [1], [7], 2, 3), "as many closings as openings, at least one"),
        (((4,), (5, 6), 8, [1], [7], 2, 3), "as many closings as openings"),
        (((4,), (4,), 8, [1], [7], 2, 3), "each id once"),
        (((4,), (5,), 3, [1], [7], 2, 3), "an int > 3"),
        (((-1,), (5,), 8, [1], [7], 2, 3), "an int > 3"),
        (((4,), (5,), 8, [1], [7], 1.5, 3), "Expected max_unary_chain >= 1, an int"),
        (((4,), (5,), 8, [1], [7], 0, 3), "Expected max_unary_chain >= 1"),
        (((4,), (5,), 8, [1], [7], 2, 0), "Received: max_depth=0"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        WellFormedTree(*arguments)
    with pytest.raises(ValueError, match="ids < V=8"):
        constraint([1], [7], 2, 3).start(1, 8, 7)


@pytest.mark.systems
def test_real_trees_are_allowed(data_folder):
    folder = data_folder / "craft-treebank"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}; set KERAS_ATTN_DATA to the data folder")
    trees = [pair.target for pair in read_trees(folder / "dev.mrg.gz").pairs[::17]]
    rows = [linearize(tree) for tree in trees]
    symbols = {symbol for row in rows for symbol in row.symbols}
    table = SymbolTable([WORD_SYMBOL, *sorted(symbols - {WORD_SYMBOL})])
    labels = [name[1:] for name in table.names if name.startswith("(")]
    openings, closings = ([table.id_of(f"{side}{label}") for label in labels] for side in "()")
    words = [len(row.words) for row in rows]
    lengths = [4 * count + 8 for count in words]
    limits = WellFormedTree(openings, closings, SPECIAL_SYMBOLS, words, lengths, 3, 32)
    state = limits.start(len(rows), table.vocabulary_size, max(lengths))
    for time in range(max(len(row.symbols) for row in rows) + 1):
        said = [[*map(table.id_of, row.symbols[time : time + 1]), END_ID][0] for row in rows]
        going_on = np.array([time <= len(row.symbols) for row in rows])
        masked = limits.mask(ops.zeros((len(rows), table.vocabulary_size)), state)
        allowed = ops.convert_to_numpy(masked)[np.arange(len(rows)), said] > DEAD / 2
        assert allowed[going_on].all(), [rows[n].symbols for n in np.flatnonzero(~allowed)][:1]
        state = limits.update(state, ops.array(np.where(going_on, said, PAD_ID), "int32"))
    assert len(rows) > 100

"""Algorithmic problems: drawn rightly, from the seed and the step alone."""

import numpy as np
import pytest

from keras_attn.text.sequence_forms import PROBLEMS
from keras_attn.text.sequence_words import AnswerWords, SourceWords
from keras_attn_pipelines.experiment import Fit, Setting
from keras_attn_pipelines.tasks.algorithmic import Algorithmic, GeneratedSequences, MemoryMachine
from keras_attn_pipelines.tasks.algorithmic.graphs import path_problem
from keras_attn_pipelines.tasks.algorithmic.work import wrong_bits
from tests.quick import rows
from tests.reference.sequence_problems import solved
from tests.text.test_sequence_words import slow_vectors


def source(problem, **values):
    counts = {"held_out": 5, "sequences": 7}
    return GeneratedSequences(
        problem=problem, bits=3, lengths=(3, 6), shortest=2, repeats=3, **counts, **values
    )


@pytest.mark.parametrize("problem", PROBLEMS)
def test_answers_are_right_and_of_the_lengths_told(problem):
    sequences = source(problem).training_sequences("generated:5")
    read = SourceWords(problem, 3, *sequences.problem.most(6))
    seen = set()
    for step in range(13):
        bucket, pairs = sequences.batch(step, 7, 2)
        most = sequences.problem.most(sequences.lengths[bucket])
        sources = [pair.source for pair in pairs]
        vectors, steps, reasons = read.encode(sources)
        assert not any(reasons.numpy())
        for pair, count, words in zip(pairs, steps.numpy(), vectors.row_lengths().numpy()):
            assert pair.target in solved(problem, pair.source)
            if problem == "shortest_path":
                assert len(solved(problem, pair.source)) == 1
            assert words - 1 <= most[0] and len(pair.target.split()) <= count <= most[1]
            seen.add(pair.length)
    assert seen == {2, 3, 4, 5, 6}


def test_a_batch_depends_on_the_seed_and_its_step_alone():
    sequences = source("copy").training_sequences("generated:5")
    assert sequences.batch(3, 7, 2) == source("copy").training_sequences("generated:5").batch(
        3, 7, 2
    )
    assert sequences.batch(3, 7, 2) != sequences.batch(4, 7, 2)
    assert sequences.batch(3, 7, 2) != source("copy").training_sequences("generated:7").batch(
        3, 7, 2
    )
    splits = [source("copy").split("generated:5", name) for name in ("dev", "test", "11")]
    assert [len(pairs) for pairs in splits] == [10, 10, 5] and splits[0] != splits[1]
    assert {pair.length for pair in splits[2]} == {11}


def encoded(task, problem="copy", **values):
    records = source(problem, **values).read("generated:5")
    setting = Setting(model=MemoryMachine(), fit=Fit(batch_size=3))
    work = task.work()
    return records, work.encode(records, work.learn(records.splits["train"]), setting)


@pytest.mark.parametrize("problem", rows(PROBLEMS, {"associative_recall"}))
def test_batches_hold_source_end_and_answer(problem):
    records, data = encoded(Algorithmic(), problem)
    assert data.steps == 3
    sequences = records.splits["train"]
    for step, (inputs, targets, weights) in enumerate(data.training(4).take(5), 4):
        pairs = sequences.batch(step, 3, 2)[1]
        for row, pair in enumerate(pairs):
            vectors = slow_vectors(problem, pair.source, 3)
            np.testing.assert_allclose(inputs[row, : len(vectors)], vectors, atol=1e-7)
            assert not np.any(inputs[row, len(vectors) :])
            places = np.flatnonzero(weights[row])
            count = len(pair.target.split())
            assert places.tolist() == list(range(len(vectors), len(vectors) + count))
            answer = AnswerWords(3).decode(targets.numpy()[row : row + 1, len(vectors) :], [count])
            assert answer.numpy()[0].decode() == pair.target
    assert sum(int(np.any(weights, axis=1).sum()) for _, _, weights in data.dev) == 10


@pytest.mark.systems
def test_a_curriculum_begins_with_short_sequences():
    _, data = encoded(Algorithmic(curriculum=4))
    lengths = [int(batch[0].shape[1]) for batch in data.training(0).take(6)]
    assert lengths == [7] * 6
    later = {int(batch[0].shape[1]) for batch in data.training(6).take(19)}
    assert later == {7, 13}


def test_a_model_goes_on_with_longer_sequences():
    known = Algorithmic().work().learn(source("copy").training_sequences("generated:5"))
    longer = GeneratedSequences(bits=3, lengths=(13,)).training_sequences("generated:5")
    extended = Algorithmic().work().extend(known, longer)
    assert extended["source_words"].longest == 13 and known["source_words"].longest == 6


def test_wrong_bits_count_missing_words():
    texts, targets = ["011 110", "011", "", "."], ["011 100", "011 110", "", "001"]
    assert wrong_bits(AnswerWords(3), texts, targets).tolist() == [1, 2, 0, 2]


@pytest.mark.parametrize("name", ["7", "generated:", "generated:x", "generated:4294967296"])
def test_other_data(name):
    with pytest.raises(ValueError, match="Expected data named generated:SEED"):
        source("copy").read(name)


def test_bad_splits_and_sizes():
    with pytest.raises(ValueError, match="Expected the split train, dev, test, or a length"):
        source("copy").split("generated:5", "validation")
    with pytest.raises(ValueError, match=r"Expected a length of at least 2\. Received: 1"):
        source("copy").split("generated:5", "1")
    with pytest.raises(ValueError, match="Expected a length of at least 2 and at most 8"):
        source("shortest_path").split("generated:5", "9")
    with pytest.raises(ValueError, match="Expected shortest between 2 and the first of lengths"):
        GeneratedSequences(problem="associative_recall")
    with pytest.raises(ValueError, match="Expected a word for each node, 2"):
        GeneratedSequences(problem="shortest_path", shortest=2, bits=3)
    with pytest.raises(ValueError, match=r"Expected num_slots >= 1\. Received: num_slots=0"):
        MemoryMachine(num_slots=0)
    with pytest.raises(ValueError, match="Expected num_slots >= 3 for an NTM"):
        MemoryMachine(num_slots=2)


def test_paths_have_all_numbers_of_hops_alike():
    """Otherwise a network learns to repeat the question, whose second node is most answers."""
    random = np.random.default_rng(7)
    for count, hops in ((3, 2), (5, 3)):
        found = [len(path_problem(random, count, hops)[1]) - 1 for _ in range(300)]
        shares = np.bincount(found, minlength=hops + 1)[1:] / 300
        assert shares.min() > 0.8 / hops, (count, shares)


def test_a_rare_path_is_not_searched_forever():
    edges, path = path_problem(np.random.default_rng(7), 40, 39)
    assert len(edges) >= 39 and len(path) >= 4

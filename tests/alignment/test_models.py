"""Models 1, 2 and the HMM beside a twin that goes through all alignments."""

import numpy as np
import pytest

from keras_attn.alignment import Aligner, AlignerOptions
from keras_attn.alignment.batches import each_pair, make_batches, rows_of_batches, words_of_keys
from keras_attn.alignment.hmm import JumpDistortion
from keras_attn.alignment.jumps import Jumps
from keras_attn.alignment.model1 import UniformDistortion
from keras_attn.alignment.model2 import PositionDistortion
from tests.alignment.pairs import LOWER, SOURCES, TARGETS
from tests.reference import alignment as twin

PLAIN = {"agreement": False, "stem_weight": 0.0, "spelling_weight": 0.0}
NULL = 0.2


def trained(**options):
    return Aligner.train(SOURCES, TARGETS, AlignerOptions(**{**PLAIN, **options}))


def lexicon_of(aligner):
    """The table of the target given the source as a dict by (f, e)."""
    sources, targets = (["NULL", *side.words] for side in aligner.vocabularies)
    e, f = (numbers.tolist() for numbers in words_of_keys(aligner.forward.keys))
    values = aligner.forward.lexicon.values.tolist()
    return {(targets[j], sources[i]): value for i, j, value in zip(e, f, values)}


def encoded(aligner):
    sides = zip(aligner.vocabularies, (SOURCES, TARGETS))
    return [vocabulary.encode(side) for vocabulary, side in sides]


def batches_of(aligner):
    sentences = encoded(aligner)
    return make_batches(*sentences, rows_of_batches(*sentences), aligner.forward.keys)[0]


def random_positions(batches, random):
    distortion = PositionDistortion.of_batches(batches, NULL)
    lengths, table, values = distortion.lengths, {}, []
    for length, words in lengths.tolist():
        for j in range(1, 1 + words):
            row = random.dirichlet(np.ones(1 + length))
            values.extend(row)
            table |= {(i, j, length, words): value for i, value in enumerate(row)}
    return PositionDistortion(lengths, np.array(values)), twin.by_position(table)


def random_jumps(batches, random):
    weights = random.uniform(0.1, 1, 14)
    by_distance = dict(zip(range(-6, 8), weights.tolist()))
    return JumpDistortion(Jumps(7, weights), NULL), twin.by_jumps(by_distance, NULL)


def no_distortion(batches, random):
    return UniformDistortion(), twin.uniform


@pytest.mark.parametrize("make", [no_distortion, random_positions, random_jumps])
def test_posteriors_likelihood_and_best_alignment_of_all_alignments(make):
    aligner = trained(model="model1", first_iterations=0, iterations=1)
    batches, lexicon = batches_of(aligner), lexicon_of(aligner)
    distortion, probability = make(batches, np.random.default_rng(3))
    for batch in batches:
        lexical = aligner.forward.lexicon.values[batch.cells]
        best = distortion.best(batch, lexical)
        best = np.split(best, np.cumsum(batch.target_lengths))
        expectation = distortion.expect(batch, lexical, distortion.empty_counts())
        likelihoods = expectation.log_likelihoods
        for place, (row, found) in enumerate(each_pair(batch, expectation.posteriors)):
            source, target = LOWER[row]
            wanted, likelihood = twin.posteriors(source, target, lexicon, probability)
            np.testing.assert_allclose(found, wanted, atol=1e-12)
            np.testing.assert_allclose(likelihoods[place], likelihood)
            alignments = twin.joint(source, target, lexicon, probability)
            chosen = tuple(best[place].tolist())
            np.testing.assert_allclose(alignments[chosen], max(alignments.values()))
            np.testing.assert_allclose(found.sum(axis=1), 1)


def test_model_1_learns_what_its_twin_learns():
    found = lexicon_of(trained(model="model1", first_iterations=0, iterations=3))
    wanted = twin.expectation_maximization(LOWER, 3)
    assert found.keys() - {("NULL", "NULL")} >= wanted.keys()
    for pair, value in wanted.items():
        np.testing.assert_allclose(found[pair], value, atol=1e-9)


@pytest.mark.parametrize("model", ["model1", "model2", "hmm"])
def test_likelihood_never_falls_and_probabilities_sum_to_1(model):
    aligner = trained(model=model, first_iterations=3, iterations=13)
    first, own = np.split(aligner.log_likelihoods, [3])
    assert np.all(np.diff(first, axis=0) > 0) and np.all(np.diff(own, axis=0) > -1e-9)
    for direction in (aligner.forward, aligner.backward):
        table = direction.lexicon
        np.testing.assert_allclose(np.bincount(table.conditions, table.values), 1)
    if model == "model2":
        for batch in batches_of(aligner):
            for _, values in each_pair(batch, aligner.forward.distortion.probabilities(batch)):
                np.testing.assert_allclose(values.sum(axis=1), 1)


@pytest.mark.parametrize("options", [{"agreement": True}, {"stem_weight": 5.0}])
def test_agreement_and_stems_keep_sums_of_1(options):
    table = trained(**options).forward.lexicon
    np.testing.assert_allclose(np.bincount(table.conditions, table.values), 1)


def test_a_dirichlet_prior_makes_the_table_sparse():
    plain, variational = (trained(variational=alpha).forward.lexicon for alpha in (0.0, 0.01))
    sums = np.bincount(variational.conditions, variational.values)
    assert np.all(sums < 1 + 1e-9) and np.sum(variational.values > 0.01) < np.sum(
        plain.values > 0.01
    )


def test_jumps_beyond_the_longest_sentence_have_the_least_weight():
    jumps = Jumps(2, [1.0, 2.0, 3.0, 0.5])
    assert jumps.matrix(3)[0].tolist() == [3.0, 0.5, 0.5]
    assert jumps.matrix(3)[3].tolist() == [0.5, 1.0, 2.0]


def test_jumps_are_learned_with_their_normalizers():
    """From jumps that are expected of known weights, the weights come back."""
    wanted = Jumps(5, np.array([1, 2, 3, 5, 7, 11, 5, 3, 2, 1.0]))
    visits = np.full((6, 6), 10.0) * (np.arange(6)[:, None] > 0)
    rows = [visits[n] / wanted.normalizers(5)[n] for n in range(6)]
    counts = sum(np.outer(row, np.arange(5) < n) for n, row in enumerate(rows)) * wanted.matrix(5)
    found = Jumps(5)
    found.update(counts, visits, steps=2000)
    np.testing.assert_allclose(found.weights, wanted.weights / wanted.weights.sum(), rtol=1e-3)


def test_lengths_that_are_not_in_the_table_are_uniform_and_not_counted():
    aligner = trained(model="model1", first_iterations=0, iterations=1)
    batches = batches_of(aligner)
    known = [tuple(lengths) for batch in batches for lengths in lengths_of(batch)]
    distortion = PositionDistortion([known[0]], np.full(known[0][1] * (1 + known[0][0]), 0.25))
    for batch in batches:
        pairs = each_pair(batch, distortion.probabilities(batch))
        for (_, found), lengths in zip(pairs, lengths_of(batch)):
            wanted = 0.25 if tuple(lengths) == known[0] else 1 / (1 + lengths[0])
            np.testing.assert_allclose(found, wanted)
        with pytest.raises(ValueError, match="Expected lengths of the table"):
            distortion.expect(batch, np.ones(len(batch.cells)), distortion.empty_counts())


def lengths_of(batch):
    return np.stack([batch.source_lengths, batch.target_lengths], axis=1).tolist()


def test_jumps_are_counted_within_their_reach():
    aligner = trained(model="model1", first_iterations=0, iterations=1)
    (batch,) = batches_of(aligner)
    distortion, lexical = JumpDistortion(Jumps(2), NULL), np.ones(len(batch.cells))
    assert np.isfinite(distortion.expect(batch, lexical).posteriors).all()
    with pytest.raises(ValueError, match=r"at most 2 words to count jumps of. Received: 6"):
        distortion.expect(batch, lexical, distortion.empty_counts())

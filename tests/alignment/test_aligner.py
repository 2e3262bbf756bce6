"""Aligners on sentence pairs: training, other text, folders, odd sentences."""

import json

import numpy as np
import pytest

from keras_attn.alignment import (
    Aligner,
    AlignerOptions,
    Gold,
    alignment_scores,
    load_aligner,
    save_aligner,
)
from keras_attn.alignment.aligner import DECODINGS
from keras_attn.alignment.batches import pair_keys
from keras_attn.alignment.unseen import NEW, OTHER, STEM, unseen_probabilities
from keras_attn.alignment.vocabulary import Vocabulary
from tests.alignment.pairs import SOURCES, TARGETS

MODELS = ("model1", "model2", "hmm")


@pytest.fixture(scope="module")
def aligner():
    return Aligner.train(SOURCES, TARGETS)


@pytest.mark.parametrize("model", MODELS)
def test_links_of_the_training_pairs_and_of_others(model):
    aligner = Aligner.train(SOURCES, TARGETS, AlignerOptions(model=model))
    assert aligner.align(SOURCES, TARGETS)[1] == [(0, 0), (1, 1)]
    assert aligner.align([["A", "house"]], [["ein", "haus"]]) == [[(0, 0), (1, 1)]]


def test_viterbi_and_posterior_decoding(aligner):
    viterbi = aligner.align(SOURCES, TARGETS, decoding="viterbi")
    assert viterbi[:3] == aligner.align(SOURCES, TARGETS)[:3]


@pytest.mark.parametrize("name", ["forward", "backward"])
def test_one_direction_alone_does_not_heed_the_other(aligner, name):
    links = aligner.align(SOURCES, TARGETS, name)
    assert links == aligner.align(SOURCES, TARGETS, name, "posterior")
    side = 1 if name == "forward" else 0
    for pair in links:
        assert len({link[side] for link in pair}) == len(pair)  # A word has one link at most.


def test_aligners_of_before_spelling_counted_had_none_of_it(aligner, tmp_path):
    save_aligner(aligner, tmp_path / "saved")
    file = tmp_path / "saved" / "aligner.json"
    description = json.loads(file.read_text(encoding="utf-8"))
    assert description["options"].pop("spelling_weight") == 5.0
    description.pop("sha256")
    file.write_text(json.dumps(description), encoding="utf-8")
    assert load_aligner(tmp_path / "saved").options.spelling_weight == 0.0


def test_unknown_words(aligner):
    """Equal spelling first, then the neighborhood."""
    source, target = ["the", "Tokyo", "houses", "quux"], ["das", "Häuser", "Tokyo", "blub"]
    assert (1, 2) in aligner.align([source], [target])[0]
    assert aligner.align([["xyzzy"]], [["plugh"]]) == [[(0, 0)]]


def test_pairs_that_were_not_seen_are_as_likely_as_their_stems():
    vocabularies = Vocabulary(["house", "houses", "dog"]), Vocabulary(["haus", "hausen", "hund"])
    keys = pair_keys([0, 1, 3], [1, 1, 3])
    new = pair_keys([1, 2, 2, 0, 3], [2, 1, 3, 2, 1])
    values = np.array([0.7, 0.5, 0.3])
    found = unseen_probabilities(keys, values, new, vocabularies, (1, 1), stem_length=4)
    np.testing.assert_allclose(found, [STEM * 0.5, STEM * 0.5, NEW, OTHER, OTHER])


def test_empty_sentences_have_no_links(aligner):
    assert aligner.align([["the"], [], []], [[], ["das"], []]) == [[], [], []]
    assert aligner.align([], []) == []


def test_other_scripts_and_a_long_sentence():
    words = [f"w{n}" for n in range(503)]
    sources = [words, ["שלום", "עולם"], ["你好", "世界"]]
    targets = [words, ["مرحبا", "عالم"], ["こんにちは", "世界"]]
    options = AlignerOptions(first_iterations=1, iterations=1)
    links = Aligner.train(sources, targets, options).align(sources, targets)
    assert links[0] and links[2] and np.max(links[1]) == 1 and np.max(links[0]) < 503


def test_batches_change_nothing(aligner, monkeypatch):
    monkeypatch.setattr("keras_attn.alignment.batches.CELLS", 1)
    alone = Aligner.train(SOURCES, TARGETS)
    np.testing.assert_allclose(alone.log_likelihoods, aligner.log_likelihoods)
    assert alone.align(SOURCES, TARGETS) == aligner.align(SOURCES, TARGETS)


def test_sentences_that_changed_after_the_training():
    sources, targets = ([list(words) for words in side] for side in (SOURCES, TARGETS))
    aligner = Aligner.train(sources, targets)
    assert aligner.align(sources, targets)[3] == [(0, 0), (1, 1), (2, 2)]
    sources[3].reverse()
    assert aligner.align(sources, targets)[3] == [(0, 2), (1, 1), (2, 0)]


def test_directions_that_were_put_in_after_the_training():
    aligner, other = (
        Aligner.train(SOURCES, TARGETS, AlignerOptions(model=model)) for model in ("hmm", "model1")
    )
    aligner.forward, aligner.backward = other.forward, other.backward
    assert aligner.align(SOURCES, TARGETS) == other.align(SOURCES, TARGETS)


def test_progress_reaches_its_end():
    seen = []
    aligner = Aligner.train(SOURCES, TARGETS, progress=lambda *step: seen.append(step))
    aligner.align(SOURCES, TARGETS, progress=lambda *step: seen.append(step))
    assert ("training", 10, 10) in seen and ("aligning", 1, 1) in seen


@pytest.mark.parametrize("model", MODELS)
def test_a_saved_aligner(model, tmp_path):
    options = AlignerOptions(model=model, first_iterations=0, iterations=1)
    aligner = Aligner.train(SOURCES, TARGETS, options)
    save_aligner(aligner, tmp_path / "new" / "aligner")
    loaded = load_aligner(tmp_path / "new" / "aligner")
    assert loaded.options == aligner.options
    assert [side.words for side in loaded.vocabularies] == [
        side.words for side in aligner.vocabularies
    ]
    new = [["the", "tiny", "book"]], [["das", "winzige", "Buch"]]
    for pairs in ((SOURCES, TARGETS), new):
        for decoding in DECODINGS:
            links = loaded.align(*pairs, decoding=decoding)
            assert links == aligner.align(*pairs, decoding=decoding)
    np.testing.assert_array_equal(loaded.log_likelihoods, aligner.log_likelihoods)


def test_a_folder_that_holds_something(aligner, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"Expected a new folder. Received: .*, not empty"):
        save_aligner(aligner, tmp_path)


def damage_words(folder):
    path = folder / "aligner.json"
    description = json.loads(path.read_text())
    description["words"][0] = description["words"][0][:3]
    path.write_text(json.dumps(description))


def damage_option(folder):
    path = folder / "aligner.json"
    path.write_text(path.read_text().replace('"hmm"', '"hm"'))


def damage_bytes(folder):
    """Changes what is packed."""
    path = folder / "tables.npz"
    data = bytearray(path.read_bytes())
    data[200:260] = bytes(60)
    path.write_bytes(data)


def damage_table(name, value):
    def damage(folder):
        with np.load(folder / "tables.npz") as tables:
            arrays = {key: tables[key] for key in tables.files}
        arrays[name] = value(arrays[name])
        np.savez(folder / "tables.npz", **arrays)

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_words, r"tables.npz: forward: keys are not sorted pairs of known words"),
        (damage_option, r"aligner.json: Expected a model of"),
        (lambda folder: (folder / "tables.npz").unlink(), r"tables.npz: No such file"),
        (lambda folder: (folder / "tables.npz").write_bytes(b"PK"), r"tables.npz: "),
        (lambda folder: (folder / "aligner.json").write_text("[]"), "not a description"),
        (damage_bytes, r"tables.npz: "),
        (damage_table("backward_values", lambda v: v * np.nan), "backward: values out of range"),
        (damage_table("forward_jumps", lambda v: v[1:]), "even number of positive weights"),
        (damage_table("forward_keys", lambda v: v[::-1]), "forward: keys are not sorted"),
        (damage_table("forward_values", lambda v: v.astype(object)), "allow_pickle"),
    ],
)
def test_a_damaged_aligner(aligner, tmp_path, damage, message):
    folder = tmp_path / "aligner"
    save_aligner(aligner, folder)
    damage(folder)
    with pytest.raises(ValueError, match=message):
        load_aligner(folder)


def test_an_aligner_has_one_digest_over_all_that_it_holds(aligner, tmp_path, capsys):
    folder = tmp_path / "aligner"
    save_aligner(aligner, folder)
    kept = (folder / "tables.npz").read_bytes()
    damage_table("forward_values", lambda values: values[::-1])(folder)
    with pytest.raises(ValueError, match=r"tables that do not match the digest in"):
        load_aligner(folder)
    (folder / "tables.npz").write_bytes(kept)
    description = json.loads((folder / "aligner.json").read_text())
    for change in ({"words": description["words"][::-1]}, {"sha256": "0"}):
        (folder / "aligner.json").write_text(json.dumps({**description, **change}))
        with pytest.raises(ValueError, match=r"Expected an aligner at"):
            load_aligner(folder)
    del description["sha256"]  # As earlier versions wrote it.
    (folder / "aligner.json").write_text(json.dumps(description))
    capsys.readouterr()
    load_aligner(folder)
    assert capsys.readouterr().err == f"not verified: {folder} has no digest\n"


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        (np.array([[255, 256], [511, 512]], "int16"), r"lengths int64 \(N, 2\). Received: int16"),
        (np.array([[1.5, 2.0]]), r"Received: float64 \(1, 2\)"),
        (np.zeros((0, 1), "int64"), r"Received: int64 \(0, 1\)"),
        (np.array([[2**62 - 1, 4]]), r"positions for each pair of lengths. Received: \(0,\)"),
        (np.array([[3, 0]]), r"positions for each pair of lengths"),
    ],
)
def test_damaged_positions(tmp_path, lengths, message):
    aligner = Aligner.train(SOURCES, TARGETS, AlignerOptions(model="model2", iterations=1))
    save_aligner(aligner, tmp_path / "aligner")
    damage_table("forward_lengths", lambda known: lengths)(tmp_path / "aligner")
    damage_table("forward_positions", lambda known: known[:0])(tmp_path / "aligner")
    with pytest.raises(ValueError, match=message):
        load_aligner(tmp_path / "aligner")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "model6"}, r"Expected a model of model1, model2, hmm. Received: model=model6"),
        ({"null_probability": 1.0}, "null_probability > 0 and < 1"),
        ({"iterations": -1}, "iterations >= 0. Received: iterations=-1"),
        ({"variational": float("nan")}, "variational >= 0"),
        ({"stem_length": 0}, "stem_length >= 1"),
        ({"stem_length": 2.5}, "a whole number for stem_length. Received: stem_length=2.5"),
    ],
)
def test_options_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        AlignerOptions(**options)


def test_bad_sentences(aligner):
    with pytest.raises(ValueError, match=r"as many sources as targets. Received: 7 and 2"):
        Aligner.train(SOURCES, TARGETS[:2])
    with pytest.raises(ValueError, match=r"with words. Received: 0 of 1 pairs"):
        Aligner.train([["the"]], [[]])
    with pytest.raises(ValueError, match=r"decoding of joint, posterior, viterbi. Received: best"):
        aligner.align(SOURCES, TARGETS, decoding="best")


def test_scores_with_sure_and_possible_links():
    gold = [Gold.of([(0, 0), (1, 2)], [(1, 1)]), Gold.of([])]
    scores = alignment_scores([[(0, 0), (1, 1), (2, 2)], [(0, 1)]], gold)
    np.testing.assert_allclose(scores, [1 - (1 + 2) / (4 + 2), 2 / 4, 1 / 2])
    assert alignment_scores([[]], [Gold.of([])]) == (0, 1, 1)
    with pytest.raises(ValueError, match="Received: 0 and 2"):
        alignment_scores([], gold)


def test_models_with_fertility():
    pytest.importorskip("nltk", reason="nltk is not installed")
    from keras_attn.alignment import fertility_alignments

    sources, targets = [*SOURCES[:3], []], [*TARGETS[:3], ["das"]]
    for model in (3, 5):
        links = fertility_alignments(sources, targets, model, iterations=1)
        assert links[3] == [] and links[1] == [(0, 0), (1, 1)]


def test_models_with_fertility_that_there_are_not():
    from keras_attn.alignment import fertility_alignments

    with pytest.raises(ValueError, match=r"Expected model 3, 4 or 5. Received: model=2"):
        fertility_alignments(SOURCES, TARGETS, 2)
    with pytest.raises(ValueError, match="iterations >= 1"):
        fertility_alignments(SOURCES, TARGETS, 3, 0)

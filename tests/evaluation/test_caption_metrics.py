import builtins
import importlib
import shutil

import numpy as np
import pytest

from keras_attn.evaluation.caption_metrics import TOKENIZER_NAME, caption_metrics
from tests.reference import caption_metrics as twin

pytest.importorskip("pycocoevalcap", reason="needs pip install 'keras-attn[evaluation]'")
needs_java = pytest.mark.skipif(not shutil.which("java"), reason="needs java on the PATH")
WORDS = ["red", "blue", "dog", "cat", "runs", "sits", "near", "under", "tree"]


def generated(examples, seed):
    """Sentences of 2 to 11 words over few words, so that n-grams of every size meet."""
    random = np.random.default_rng(seed)

    def sentence():
        return " ".join(random.choice(WORDS, random.integers(2, 12)))

    references = [[sentence() for _ in range(random.integers(1, 6))] for _ in range(examples)]
    # Every second candidate is a reference with one word replaced, so that 4-grams match too.
    candidates = []
    for index, own in enumerate(references):
        words = (own[0] if index % 2 else sentence()).split()
        words[random.integers(len(words))] = "dog"
        candidates.append(" ".join(words))
    return candidates, references


def twin_metrics(candidates, references):
    candidates = [text.split() for text in candidates]
    references = [[text.split() for text in own] for own in references]
    scores = {f"bleu_{n}": 100 * twin.bleu(candidates, references, n) for n in range(1, 5)}
    scores["rouge_l"] = 100 * twin.rouge_l(candidates, references)
    return scores | {"cider_d": twin.cider_d(candidates, references)}


@pytest.mark.parametrize("examples, seed", [(2, 3), (7, 5), (13, 7)])
def test_equals_the_slow_twins(examples, seed):
    candidates, references = generated(examples, seed)
    expected = twin_metrics(candidates, references)
    assert expected["cider_d"] > 0.1
    assert expected["bleu_4"] > 5
    scores = caption_metrics(candidates, references, meteor=False)
    assert scores == pytest.approx(expected, rel=1e-6)


def test_equals_the_slow_twins_with_empty_candidates():
    candidates, references = generated(7, 11)
    candidates[2] = candidates[5] = ""
    scores = caption_metrics(candidates, references, meteor=False)
    assert scores == pytest.approx(twin_metrics(candidates, references), rel=1e-6)


def test_a_perfect_candidate_has_the_highest_scores():
    references = [["a dog runs over the green hill"], ["two cats sleep under one old tree"]]
    scores = caption_metrics([own[0] for own in references], references, meteor=False)
    assert scores == pytest.approx(
        dict.fromkeys(["bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l"], 100) | {"cider_d": 10},
        abs=1e-4,
    )


def test_an_empty_candidate_scores_nothing():
    scores = caption_metrics(["", ""], [["a dog runs"], ["a cat sits"]], meteor=False)
    assert scores == pytest.approx(dict.fromkeys(scores, 0.0), abs=1e-4)


def test_only_punctuation_counts_as_empty():
    references = [["a dog runs"], ["a cat sits there"]]
    empty = caption_metrics(["", "a cat"], references, meteor=False)
    assert caption_metrics([" . ", "a cat"], references, meteor=False) == empty


def test_texts_are_tokenized_on_both_sides():
    references = [["The dog's tail is up ."], ["A cat, two dogs!"]]
    candidates = ["the dog 's tail is up", "A cat two dogs"]
    assert caption_metrics(candidates, references, meteor=False)["bleu_4"] == pytest.approx(100)


def test_the_best_of_several_references_counts_and_their_order_does_not():
    references = [["a dog", "a brown dog runs fast"], ["some cat", "a cat sits in the sun"]]
    candidates = ["a brown dog runs fast", "a cat sits in the sun"]
    scores = caption_metrics(candidates, references, meteor=False)
    assert scores["bleu_4"] == pytest.approx(100)
    assert scores["rouge_l"] == pytest.approx(100)
    turned = caption_metrics(candidates, [own[::-1] for own in references], meteor=False)
    assert turned == pytest.approx(scores)


def test_nothing_is_printed(capsys):
    caption_metrics(["a dog"], [["a dog"]], meteor=False)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "candidates, references, message",
    [
        ([], [], "Expected at least one caption"),
        (["a dog"], [], "Expected references for 1 captions. Received: 0"),
        (["a dog", "a cat"], [["a dog"], []], "Expected a list of references at 1"),
        (["a dog"], ["a dog"], "Expected a list of references at 0"),
    ],
)
def test_wrong_input_is_named(candidates, references, message):
    with pytest.raises(ValueError, match=message):
        caption_metrics(candidates, references, meteor=False)


def test_without_pycocoevalcap_the_error_says_what_to_install(monkeypatch):
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("pycocoevalcap"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install .*keras-attn\[evaluation\]"):
        caption_metrics(["a dog"], [["a dog"]], meteor=False)


def test_the_tokenizer_is_named_for_tables():
    assert "PTB" in TOKENIZER_NAME


def test_without_java_meteor_is_left_out_or_an_error(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert "meteor" not in caption_metrics(["a dog"], [["a dog"]])
    with pytest.raises(ValueError, match=r"Expected Java for METEOR"):
        caption_metrics(["a dog"], [["a dog"]], meteor=True)


@pytest.mark.parametrize("script", ["exit 3", "read line; exit 3", "exec sleep 60"])
def test_java_that_fails_is_told(monkeypatch, tmp_path, script):
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\necho no memory >&2\n{script}\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    module = importlib.import_module("keras_attn.evaluation.caption_metrics")
    monkeypatch.setattr(module, "METEOR_SECONDS", 0.3)
    with pytest.raises(ValueError, match=r"Expected METEOR to run\. Received: no memory"):
        caption_metrics(["a dog"], [["a dog"]], meteor=True)


@pytest.mark.slow
@needs_java
def test_meteor_is_higher_for_better_candidates_and_survives_empty_ones():
    references = [["a dog runs over the hill", "a brown dog"], ["ein Ärger: two cats sleep"]]
    perfect = caption_metrics([own[0] for own in references], references, meteor=True)["meteor"]
    half = caption_metrics(["a dog runs", ""], references, meteor=True)["meteor"]
    nothing = caption_metrics(["", ""], references, meteor=True)["meteor"]
    assert 99 < perfect <= 100
    assert nothing < half < perfect
    assert nothing == pytest.approx(0, abs=1e-4)


@pytest.mark.slow
@needs_java
def test_meteor_equals_pycocoevalcap_s_own_class():
    from pycocoevalcap.meteor.meteor import Meteor

    candidates, references = generated(13, 17)
    own = caption_metrics(candidates, references, meteor=True)["meteor"]
    scorer = Meteor()
    try:
        theirs, _ = scorer.compute_score(
            dict(enumerate(references)), {i: [text] for i, text in enumerate(candidates)}
        )
    finally:
        scorer.meteor_p.stdout.close()
        scorer.meteor_p.stderr.close()
    assert own == pytest.approx(100 * theirs, abs=1e-7)

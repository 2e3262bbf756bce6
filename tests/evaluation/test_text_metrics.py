import builtins

import pytest

from keras_attn.evaluation.text_metrics import text_metrics, text_signatures

sacrebleu = pytest.importorskip("sacrebleu", reason="needs pip install 'keras-attn[evaluation]'")
REFERENCES = ["Two dogs run over the green hill.", "A cat sleeps under an old tree, I think."]
TEXTS = ["two dogs run over the green hill .", "A cat sleeps under an old tree."]


def test_equal_to_sacrebleus_functions():
    metrics = text_metrics(TEXTS, REFERENCES)
    assert metrics["bleu"] == pytest.approx(sacrebleu.corpus_bleu(TEXTS, [REFERENCES]).score)
    assert metrics["chrf"] == pytest.approx(sacrebleu.corpus_chrf(TEXTS, [REFERENCES]).score)
    lower = sacrebleu.corpus_bleu(TEXTS, [REFERENCES], lowercase=True).score
    assert metrics["bleu_lowercase"] == pytest.approx(lower)
    assert 0 < metrics["bleu"] < lower < 100 and metrics["exact"] == 0


def test_perfect_and_empty_texts():
    perfect = text_metrics(REFERENCES, REFERENCES)
    expected = {"bleu": 100, "chrf": 100, "bleu_lowercase": 100, "exact": 1}
    assert perfect == pytest.approx(expected)
    empty = text_metrics(["", ""], REFERENCES)
    assert empty == pytest.approx(dict.fromkeys(perfect, 0.0), abs=1e-6)


def test_signatures_say_case_and_tokenizer():
    signatures = text_signatures()
    assert "case:mixed|eff:no|tok:13a" in signatures["bleu"]
    assert "case:lc|eff:no|tok:13a" in signatures["bleu_lowercase"]
    assert signatures["chrf"].startswith("chrF2|")


@pytest.mark.parametrize(("texts", "references"), [([], []), (["a"], []), (["a"], ["b", "c"])])
def test_wrong_input_is_named(texts, references):
    with pytest.raises(ValueError, match="Expected as many references as texts, and at least one"):
        text_metrics(texts, references)


def test_without_sacrebleu_the_error_says_what_to_install(monkeypatch):
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("sacrebleu"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install .*keras-attn\[evaluation\]"):
        text_metrics(["a"], ["a"])


def test_several_references():
    references = [[REFERENCES[0], "Dogs on a hill."], [REFERENCES[1]]]
    metrics, signatures = text_metrics(TEXTS, references), text_signatures(several=True)
    streams = [[own[0] for own in references], ["Dogs on a hill.", None]]
    assert metrics["bleu"] == pytest.approx(sacrebleu.corpus_bleu(TEXTS, streams).score)
    assert text_metrics(REFERENCES, references)["exact"] == 1
    assert "nrefs:var" in signatures["bleu"] and "nrefs:1" in text_signatures()["bleu"]
    with pytest.raises(ValueError, match=r"Expected a reference for text 1\. Received: none"):
        text_metrics(TEXTS, [["a"], []])

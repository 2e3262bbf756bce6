"""Metrics of texts in languages without spaces between words: they can move."""

import importlib
import itertools
import socket
import sys
import types

import pytest

from keras_attn.evaluation import (
    ConsensusReward,
    caption_metrics,
    caption_tokenization,
    fact_metrics,
    text_metrics,
    text_signatures,
    text_tokenization,
)
from keras_attn.text import character_tokenize

for package in ("sacrebleu", "pycocoevalcap"):
    pytest.importorskip(package, reason="needs pip install 'keras-attn[evaluation]'")

# The module, not the function of the package.
MODULE = importlib.import_module("keras_attn.evaluation.tokenization")
TEXTS = {
    "zh": ["老人在河边钓鱼。", "三个孩子坐在旧桥上。"],
    "ja": ["老人が川で魚を釣っている。", "三人の子供が古い橋に座っている。"],
    "th": ["ชายชราตกปลาริมแม่น้ำ", "เด็กสามคนนั่งบนสะพานเก่า"],
    "lo": ["ເດັກນ້ອຍນັ່ງຢູ່ຂົວເກົ່າ", "ຜູ້ເຖົ້າຫາປາ"],
    "km": ["ក្មេងបីនាក់អង្គុយលើស្ពាន", "បុរសចំណាស់ស្ទូចត្រី"],
    "my": ["ကလေးသုံးယောက်တံတားပေါ်ထိုင်နေသည်", "အဘိုးအိုငါးမျှားသည်"],
}
MOVING = {
    **TEXTS,
    "ko": ["노인이 강가에서 혼자 낚시를 했습니다.", "세 아이가 낡은 다리 위에 앉아 있었습니다."],
    "mixed": ["我在TensorFlow里训练Transformer模型", "他用Keras写encoder和decoder"],
}
ENGLISH = ["An old man fishes by the river.", "Three children sit on an old bridge."]


@pytest.fixture
def mecab(monkeypatch):
    """A function that says whether MeCab is installed."""

    def installed(value):
        monkeypatch.setattr(MODULE, "_has_mecab", lambda: value)

    installed(False)
    return installed


@pytest.mark.parametrize(
    ("texts", "text", "caption"),
    [
        (ENGLISH, "13a", "ptb"),
        (["Ein alter Mann angelt am Fluß."], "13a", "ptb"),
        (["노인이 강가에서 낚시를 한다."], "13a", "ptb"),
        (["Старик ловит рыбу."], "13a", "ptb"),
        ([], "13a", "ptb"),
        (["", "1990 …"], "13a", "ptb"),
        ([*ENGLISH, "He wrote 河 and 桥 on the wall."], "13a", "ptb"),
        (TEXTS["zh"], "zh", "char"),
        (["他有2件T恤和3只猫, OK。"], "zh", "char"),
        (MOVING["mixed"], "zh", "char"),
        (["The words 河, 桥 and 钓鱼 stood on it."], "13a", "ptb"),
        ([*TEXTS["zh"], *TEXTS["zh"], "喜欢の茶"], "zh", "char"),
        (TEXTS["ja"], "char", "char"),
        *((TEXTS[language], "char", "char") for language in ("th", "lo", "km", "my")),
    ],
)
def test_the_script_of_most_words_chooses(texts, text, caption, mecab):
    for references in (texts, texts[::-1]):
        assert text_tokenization(references) == text
        assert caption_tokenization(references) == caption
        assert text_tokenization(references, "intl") == "intl"
        assert caption_tokenization(references, "ptb") == "ptb"


def test_mecab_where_it_is_installed(mecab):
    with pytest.raises(ImportError, match=r"Expected MeCab .*pip install 'sacrebleu\[ja\]'"):
        text_tokenization(TEXTS["ja"], "ja-mecab")
    mecab(True)
    assert text_tokenization(TEXTS["ja"]) == "ja-mecab"
    assert text_tokenization(TEXTS["zh"]) == "zh" and text_tokenization(ENGLISH) == "13a"


@pytest.mark.parametrize("name", ["flores101", "flores200", "spm", "moses", ""])
def test_tokenizers_that_would_be_downloaded_are_refused_by_name(name):
    message = rf"Expected a tokenizer that needs no download: auto, .*Received: '{name}'"
    with pytest.raises(ValueError, match=message):
        text_metrics(ENGLISH, ENGLISH, name)
    with pytest.raises(ValueError, match=rf"Expected a tokenizer of auto, .*Received: '{name}'"):
        caption_metrics(ENGLISH, [[text] for text in ENGLISH], False, name)


def facts_of(text):
    """A fact whose value is the middle of a text."""
    return [(text[:2], "is", text[2:6])]


SCORERS = {
    "texts": text_metrics,
    "captions": lambda texts, own: caption_metrics(texts, [[text] for text in own], False),
    "facts": lambda texts, own: fact_metrics(texts, list(map(facts_of, own)), [[t] for t in own]),
}


@pytest.mark.parametrize(
    ("scorer", "language"),
    [*itertools.product(("texts", "captions"), MOVING), *itertools.product(("facts",), TEXTS)],
)
def test_every_metric_moves_with_the_answers(scorer, language, monkeypatch, mecab):
    """No answer, half of the answers, answers that are nearly right, and all right."""
    monkeypatch.setattr(socket, "socket", None)  # Nothing is downloaded.
    references, metrics = MOVING[language], SCORERS[scorer]
    nearly = [text.replace(text[-4], "", 1) for text in references]
    answers = (["", ""], [references[0], ""], nearly, references)
    scores = [metrics(texts, references) for texts in answers]
    for name in set(scores[0]) - {"exact", "order"}:
        none, half, near, whole = (own[name] for own in scores)
        assert none < half < whole, name
        assert none < near < whole or scorer == "facts", name


def test_signatures_name_the_tokenization():
    for name in ("13a", "zh", "char", "intl", "none"):
        signatures = text_signatures(tokenization=name)
        assert f"|tok:{name}|" in signatures["bleu"] and "case:lc" in signatures["bleu_lowercase"]
        assert signatures["chrf"] == text_signatures()["chrf"]


def test_what_the_tokenizer_needs_is_sacrebleus_own_mecab(monkeypatch, mecab):
    """Only its absence is an error: the tokenizer itself is sacreBLEU's."""
    mecab(True)
    module = importlib.import_module("sacrebleu.tokenizers.tokenizer_ja_mecab")
    tagger = types.SimpleNamespace(
        parse=lambda line: " ".join(line),
        dictionary_info=lambda: types.SimpleNamespace(size=392126, next=None),
        version=lambda: "0.996",
    )
    monkeypatch.setattr(module, "MeCab", types.SimpleNamespace(Tagger=lambda text: tagger))
    monkeypatch.setattr(module, "ipadic", types.SimpleNamespace(MECAB_ARGS=""), raising=False)
    name = text_tokenization(TEXTS["ja"])
    assert "tok:ja-mecab-0.996-IPA" in text_signatures(tokenization=name)["bleu"]
    assert text_metrics(TEXTS["ja"], TEXTS["ja"])["bleu"] == pytest.approx(100)


def test_characters_keep_their_marks_and_other_words_stay_whole():
    assert character_tokenize("他说：“don't go”——3只猫…（好）！") == (
        ["他", "说", "do", "n't", "go", "3", "只", "猫", "好"]
    )
    assert character_tokenize("ชั้น") == ["ชั้", "น"]
    assert character_tokenize("Two dogs.") == ["two", "dogs"] and character_tokenize("。") == []


def test_the_reward_of_captions_is_by_character_and_keeps_that():
    references = [[text] for text in TEXTS["zh"]]
    reward = ConsensusReward(references)
    assert reward.tokenization == "char" and ConsensusReward([ENGLISH]).tokenization == "ptb"
    again = ConsensusReward.from_config(reward.get_config())
    for own in (reward, again):
        worse, better = own.scores(["桥", TEXTS["zh"][0][:-2]], references[0])
        assert 0 <= worse < better
    kept = {"with_end", "examples", "frequencies"}
    earlier = {key: value for key, value in reward.get_config().items() if key in kept}
    assert ConsensusReward.from_config(earlier).tokenization == "ptb"


def test_nothing_of_sacrebleu_is_needed_to_choose(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    assert text_tokenization(TEXTS["zh"]) == "zh"

"""Ids and texts of tokenizers are those of transformers, on real sentences of many scripts."""

import gettext
import gzip
import json
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import pytest
import sentencepiece

from keras_attn.pretrained.translator_vocabulary import END_NAME, PAD_NAME, UNKNOWN_NAME
from keras_attn.text.pretrained_tokenizer import PretrainedTokenizer

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Recommended:UserWarning")]
CATALOGS = ("ru", "uk", "el", "ar", "hi", "zh_CN", "ja", "he", "th")
"""Languages of message catalogs that installed packages carry."""


def messages(language):
    """Translated messages of Sphinx and of the system's programs, as far as they are installed."""
    sphinx = find_spec("sphinx")
    roots = (
        [Path(place) / "locale" for place in sphinx.submodule_search_locations] if sphinx else []
    )
    texts = []
    for path in (
        path
        for root in (*roots, Path("/usr/share/locale"))
        for path in sorted((root / language / "LC_MESSAGES").glob("*.mo"))
    ):
        with path.open("rb") as file:
            catalog = gettext.GNUTranslations(file)._catalog
        texts += [text for text in catalog.values() if isinstance(text, str) and text.strip()]
    texts = [line for text in texts for line in text.splitlines() if line.strip()][:3000]
    if len(texts) < 100:
        pytest.skip(f"no package with a message catalog in {language} is installed")
    return texts


def sentences(data, count=10_000):
    """Real sentences in two languages."""
    texts = []
    for language in ("en", "de"):
        with gzip.open(data / f"train.{language}.gz", "rt", encoding="utf-8") as file:
            texts += [next(file).rstrip("\n") for _ in range(count // 2)]
    return texts


@pytest.fixture(params=["multi30k", *CATALOGS])
def texts(request):
    if request.param == "multi30k":
        return sentences(request.getfixturevalue("data_folder") / "multi30k")
    return messages(request.param)


def learned(texts, size):
    """A SentencePiece model as those of Opus-MT: unigram, normalized by nmt_nfkc."""
    model = BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        model_type="unigram",
        vocab_size=size,
        hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc",
        character_coverage=0.98,
        minloglevel=2,
    )
    return model.getvalue()


def test_marian(texts, tmp_path):
    transformers = pytest.importorskip("transformers")
    models = {"source": learned(texts[::2], 2000), "target": learned(texts[1::2], 1500)}
    names = dict.fromkeys([END_NAME, UNKNOWN_NAME])
    for side, model in models.items():
        (tmp_path / f"{side}.spm").write_bytes(model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        pieces = map(processor.id_to_piece, range(3, processor.vocab_size()))
        names |= dict.fromkeys(piece for place, piece in enumerate(pieces) if place % 50)
    ids = {name: place for place, name in enumerate([*names, PAD_NAME])}
    (tmp_path / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    words = transformers.MarianTokenizer.from_pretrained(tmp_path)
    known = ["", "", "", "", *(name for name in names if name not in (END_NAME, UNKNOWN_NAME))]
    places = {place: known.index(name) for name, place in ids.items() if name in known}
    places |= {ids[UNKNOWN_NAME]: 1}

    source = PretrainedTokenizer(models["source"], known)
    expected = [[places[token] for token in row[:-1]] for row in words(texts).input_ids]
    assert source.encode_all(texts) == expected
    check_graph(source, texts, expected)
    assert sum(row.count(1) for row in expected) > 3

    target = PretrainedTokenizer(models["target"], known)
    rows = words(text_target=texts).input_ids
    expected = [[places[token] for token in row[:-1]] for row in rows]
    assert target.encode_all(texts) == expected
    check_graph(target, texts, expected)
    spelled = words.batch_decode(rows, skip_special_tokens=True)
    assert target.decode_all(expected) == spelled
    assert [text.decode() for text in target.decode(target.encode(texts)).numpy()] == spelled


def check_graph(tokenizer, texts, expected):
    """In graphs an older SentencePiece may take the other of two equally probable spellings, such
    as 000 0 instead of 0 000."""
    rows = tokenizer.encode(texts).to_list()
    others = [(own, other) for own, other in zip(rows, expected, strict=True) if own != other]
    assert all(sorted(own) == sorted(other) for own, other in others)
    assert len(others) <= len(texts) / 50

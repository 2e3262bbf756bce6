"""Transformers as folders of Marian, and back."""

import numpy as np
import pytest
import sentencepiece
from keras import ops

from keras_attn.decoding import Beam, Greedy, MaximumLength, decode
from keras_attn.models.transformer.transformer import Transformer
from keras_attn.pretrained import load_translator, save_marian
from keras_attn.text.pretrained_tokenizer import PretrainedTokenizer
from keras_attn.text.tokenizer import Tokenizer
from tests.pretrained.translator_folders import GOLDEN

TEXTS = ["a red circle is left of the blue square", "ein Kreis, links vom Quadrat!", "ﬁne ½ Ｔen"]
SEARCH = {"beam_width": 3, "length_alpha": 0.7, "early_stopping": False}
SIZES = {"num_layers": 2, "num_decoder_layers": 1, "hidden_dim": 6, "intermediate_dim": 7}
SIZES |= {"num_heads": 2, "key_dim": 3, "value_dim": 3}


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.learn(TEXTS * 3, 330)


def model_of(source, target=None, **changes):
    model = Transformer(
        vocabulary_size=source, target_vocabulary_size=target, **{**SIZES, **changes}
    )
    model.build()
    random = np.random.default_rng(7)
    for weight in model.weights:
        weight.assign(random.normal("gamma" in weight.path, 0.5, weight.shape))
    return model


def answers(model, sources, tokenizer, strategy):
    rows = [[*row, 3] for row in sources.encode_all(TEXTS)]
    source = np.zeros((len(rows), max(map(len, rows))), "int32")
    for place, row in enumerate(rows):
        source[place, : len(row)] = row
    limits = [MaximumLength(np.full(len(rows), 13), True)]
    result = decode(model, {"source": source}, strategy, 13, constraints=limits)
    texts = tokenizer.decode_all(ops.convert_to_numpy(result.tokens)[:, 0])
    return texts, ops.convert_to_numpy(result.scores)[:, 0]


@pytest.mark.parametrize(
    ("tied", "changes"),
    [
        ("all", {"activation": "gelu"}),
        ("all", {"embed_start": False, "use_bias": True, "output_bias": True}),
        ("decoder", {"activation": "silu"}),
        ("none", {"embed_start": False}),
    ],
)
def test_what_was_trained_here_answers_alike_there(tied, changes, tokenizer, tmp_path):
    """Read again, it is the model; `test_peers` has transformers and CTranslate2 read it."""
    sources = tokenizer if tied != "decoder" else Tokenizer.learn(TEXTS * 3, 320)
    sizes = (sources.vocabulary_size, tokenizer.vocabulary_size)
    model = model_of(*sizes, tied=tied, epsilon=1e-5, **changes)
    folder = save_marian(model, sources, tokenizer, tmp_path / "marian", SEARCH)
    again = load_translator(folder)
    assert again.search == SEARCH and again.tokenizer.never
    twice = save_marian(
        again.model, again.source_tokenizer, again.tokenizer, tmp_path / "twice", again.search
    )
    unused = [again.tokenizer.names[token] for token in again.tokenizer.never]
    other = load_translator(twice).tokenizer
    assert set(unused) <= {other.names[token] for token in other.never}
    for strategy in (Greedy(), Beam(3, 0.7, 1, "average", False)):
        texts, scores = answers(model, sources, tokenizer, strategy)
        others = answers(again.model, again.source_tokenizer, again.tokenizer, strategy)
        assert others[0] == [text.strip() for text in texts]
        np.testing.assert_allclose(others[1], scores, atol=1e-4)


@pytest.mark.parametrize("case", ["marian_post", "marian_relu_separate", "marian_untied_gelu"])
def test_what_was_imported_goes_out_as_it_came(case, tmp_path):
    first = load_translator(GOLDEN / case)
    folder = save_marian(
        first.model, first.source_tokenizer, first.tokenizer, tmp_path / case, first.search
    )
    again = load_translator(folder)
    assert again.search == first.search
    for own, other in zip(again.model.weights, first.model.weights, strict=True):
        np.testing.assert_allclose(own, other, rtol=0, atol=1e-6)
    for name in ("source_tokenizer", "tokenizer"):
        own, other = getattr(again, name), getattr(first, name)
        assert own.model == other.model
        pairs = zip(own.names, other.names, strict=True)
        assert all(there == here for there, here in pairs if here)


def test_texts_are_normalized_as_before(tokenizer, tmp_path):
    """By the SentencePiece model alone, which is all that transformers applies."""
    model = model_of(tokenizer.vocabulary_size)
    folder = save_marian(model, tokenizer, tokenizer, tmp_path / "marian", SEARCH)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
    for text in (*TEXTS, "  two  spaces\u3000here ", "Ｔ½ﬁ", "☂ é e\u0301"):
        assert [processor.encode(text)] == tokenizer.encode_all([text]), text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"normalize_first": True}, r"\(train with normalize_first=False\)\. Received: norm"),
        ({"positions": "alibi"}, "Received: positions='alibi'"),
        ({"gated": True, "normalization": "rms"}, "Received: gated=True, normalization='rms'"),
        ({"activation": "tanh"}, r"Marian's kind\. Received: activation='tanh'"),
        ({"key_dim": 5, "value_dim": 5}, "Received: key_dim=5"),
    ],
)
def test_parts_that_marian_lacks(changes, message, tokenizer, tmp_path):
    model = model_of(tokenizer.vocabulary_size, **changes)
    with pytest.raises(ValueError, match=message):
        save_marian(model, tokenizer, tokenizer, tmp_path / "marian", SEARCH)
    assert not (tmp_path / "marian").exists()


def test_a_folder_with_files_is_kept(tokenizer, tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    model = model_of(tokenizer.vocabulary_size)
    with pytest.raises(ValueError, match="Expected a new or empty folder"):
        save_marian(model, tokenizer, tokenizer, tmp_path, SEARCH)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_answers_that_begin_with_a_language(tokenizer, tmp_path):
    names = ["", "", "", ""]
    names += [tokenizer.piece_of(place) for place in range(4, tokenizer.vocabulary_size)]
    forced = PretrainedTokenizer(tokenizer.model, names, prefix=[names[-1]])
    model = model_of(len(names))
    with pytest.raises(ValueError, match="whose answers begin with"):
        save_marian(model, forced, forced, tmp_path / "marian", SEARCH)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Recommended:UserWarning")
@pytest.mark.parametrize("embed_start", [True, False])
def test_peers(embed_start, tokenizer, tmp_path):
    """transformers, and without an embedding of the start CTranslate2, answer alike."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    model = model_of(tokenizer.vocabulary_size, epsilon=1e-5, embed_start=embed_start)
    folder = save_marian(model, tokenizer, tokenizer, tmp_path / "marian", SEARCH)
    words = transformers.MarianTokenizer.from_pretrained(folder)
    peer = transformers.MarianMTModel.from_pretrained(folder).eval()
    batch = words(TEXTS, return_tensors="pt", padding=True)
    for strategy, width in ((Greedy(), 1), (Beam(3, 0.7, 1, "average", False), 3)):
        texts, scores = answers(model, tokenizer, tokenizer, strategy)
        texts = [text.strip() for text in texts]
        with torch.no_grad():
            out = peer.generate(
                **batch,
                num_beams=width,
                max_length=14,
                return_dict_in_generate=True,
                output_scores=True,
            )
        assert words.batch_decode(out.sequences, skip_special_tokens=True) == texts
        if width > 1:
            np.testing.assert_allclose(out.sequences_scores, scores, atol=1e-4)
    if embed_start:
        return
    ctranslate2 = pytest.importorskip("ctranslate2")
    ctranslate2.converters.TransformersConverter(str(folder)).convert(str(tmp_path / "ct2"))
    sources = [words.convert_ids_to_tokens(words(text)["input_ids"]) for text in TEXTS]
    results = ctranslate2.Translator(str(tmp_path / "ct2")).translate_batch(
        sources, beam_size=1, max_decoding_length=12
    )
    for result, text in zip(results, answers(model, tokenizer, tokenizer, Greedy())[0]):
        ids = words.convert_tokens_to_ids(result.hypotheses[0])
        assert words.decode(ids, skip_special_tokens=True) == text.strip()

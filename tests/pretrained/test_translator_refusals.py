"""Checkpoints of translators that are damaged, or of another model, are refused by name."""

import json
import pickle
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from keras_attn.pretrained import load
from keras_attn.pretrained.translators import load_translator
from tests.pretrained.translator_folders import GOLDEN, LANGUAGES
from tests.reference import torch_file

CASE = "marian_post"


@pytest.fixture
def folder(tmp_path):
    return copied(CASE, tmp_path)


def copied(case, tmp_path):
    folder = tmp_path / case
    shutil.copytree(GOLDEN / case, folder)
    (folder / "answers.npz").unlink()
    return folder


def settings(folder, name="config.json", **changes):
    """Changes settings; None removes one."""
    path = folder / name
    content = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    content = {key: value for key, value in content.items() if value is not None}
    path.write_text(json.dumps(content), encoding="utf-8")


def tensors(folder, change):
    path = folder / "model.safetensors"
    arrays = {name: array.copy() for name, array in load_file(path).items()}
    change(arrays)
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "bert"}, "model_type 'bert'; known: marian, m2m_100"),
        ({"model_type": ["marian"]}, r"model_type \['marian'\]"),
        ({"model_type": None}, "no model_type in config.json"),
        ({"d_model": None}, "Expected d_model in .* an integer. Received: None"),
        ({"d_model": 8.5}, "Expected d_model in .*Received: 8.5"),
        ({"d_model": True}, "Expected d_model in .*Received: True"),
        ({"encoder_attention_heads": 3, "decoder_attention_heads": 3}, "3 heads in a width of 8"),
        ({"encoder_ffn_dim": 13}, "encoder_ffn_dim=13, decoder_ffn_dim"),
        ({"activation_function": "mish"}, "activation_function 'mish'; known: relu"),
        ({"normalize_before": True}, "normalizes first; import its .npz"),
        ({"normalize_embedding": True}, "normalize_embedding=True"),
        ({"dropout": 1.5}, "Expected 0 <= dropout < 1"),
        ({"decoder_start_token_id": 999}, "decoder_start_token_id=999, with 69 rows"),
        ({"eos_token_id": 5}, "eos_token_id other than </s>"),
        ({"encoder_layers": 1}, "1 layers of the encoder, and tensors of 2"),
        ({"decoder_layers": 10**9}, "1000000000 layers of the decoder, and tensors of 2"),
    ],
    ids=str,
)
def test_settings_that_do_not_fit(folder, changes, message):
    settings(folder, **changes)
    with pytest.raises(ValueError, match=message) as caught:
        load_translator(folder)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"early_stopping": "never"}, "early_stopping='never'; known: true and false"),
        ({"num_beams": 0}, "num_beams=0"),
        ({"length_penalty": "1"}, "length_penalty='1'"),
        ({"bad_words_ids": [[1, 2]]}, r"bad_words_ids that are not single ids: \[\[1, 2\]\]"),
        ({"bad_words_ids": [[999]]}, "bad_words_ids that are not single ids"),
        ({"bad_words_ids": 3}, "bad_words_ids that are not single ids: 3"),
        ({"no_repeat_ngram_size": 3}, "no_repeat_ngram_size=3, which would change its answers"),
        ({"forced_bos_token_id": 5}, "forced_bos_token_id=5, which would change its answers"),
        ({"do_sample": True}, "do_sample=True, which would change its answers"),
    ],
    ids=str,
)
def test_searches_that_are_not_known(folder, changes, message):
    settings(folder, "generation_config.json", **changes)
    with pytest.raises(ValueError, match=message):
        load_translator(folder)


def test_tensors_that_do_not_fit_are_all_named(folder):
    def change(arrays):
        del arrays["model.encoder.layers.0.fc1.bias"]
        arrays["model.decoder.layers.1.fc2.weight"] = np.zeros((3, 5), "float32")
        arrays["final_logits_bias"] = np.zeros((1, 69), "int64")
        arrays["stranger"] = np.zeros(7, "float32")

    tensors(folder, change)
    with pytest.raises(ValueError, match="Expected the tensors of a translator") as caught:
        load_translator(folder)
    for part in (
        r"no model.encoder.layers.0.fc1.bias, expected shape",
        r"model.decoder.layers.1.fc2.weight of shape (3, 5), expected",
        r"final_logits_bias of int64, expected floats",
        r"stranger of shape (7,), expected no such tensor",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize("case", [CASE, "t5", "marian_relu_separate"])
def test_a_missing_table(case, tmp_path):
    folder = copied(case, tmp_path)
    tensors(folder, lambda arrays: [arrays.pop(n) for n in [*arrays] if arrays[n].shape[0] > 40])
    with pytest.raises(ValueError, match="no table of embeddings"):
        load_translator(folder)


def test_tables_that_are_said_to_be_tied_but_differ(folder):
    def change(arrays):
        arrays["lm_head.weight"] = arrays["model.shared.weight"] + 1

    tensors(folder, change)
    with pytest.raises(ValueError, match=r"lm_head\.weight, which is tied, but differs"):
        load_translator(folder)


def test_repeated_tables_and_static_positions_of_earlier_versions(folder):
    """Old files hold tied tables several times, and sinusoids; both are checked and dropped."""

    def change(arrays, shift=0.0):
        shared = arrays["model.shared.weight"]
        for name in ("lm_head", "model.encoder.embed_tokens", "model.decoder.embed_tokens"):
            arrays[f"{name}.weight"] = shared
        width = shared.shape[1]
        angles = np.arange(61)[:, None] / 10000 ** (np.arange(width // 2) * 2 / width)
        table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1) + shift
        arrays["model.encoder.embed_positions.weight"] = table.astype("float32")

    tensors(folder, change)
    expected = load_translator(GOLDEN / CASE).model.weights
    for own, other in zip(load_translator(folder).model.weights, expected, strict=True):
        np.testing.assert_array_equal(own, other)
    tensors(folder, lambda arrays: change(arrays, 0.01))
    with pytest.raises(ValueError, match=r"encoder\.embed_positions\.weight, which are no sinus"):
        load_translator(folder)


@pytest.mark.parametrize("missing", ["source.spm", "target.spm", "vocab.json"])
def test_a_missing_vocabulary(folder, missing):
    (folder / missing).unlink()
    with pytest.raises(ValueError, match=rf"Expected {missing} in .*download it from where"):
        load_translator(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ids: ids.update({"new": 69}), "ids < 69, the rows of its table.*69 for 'new'"),
        (lambda ids: ids.update({"new": 7}), "Expected each id once in the vocab.json.*7 for"),
        (lambda ids: ids.pop("</s>"), "Expected </s> in the vocab.json"),
        (lambda ids: ids.pop("<unk>"), "Expected <unk> in the vocab.json"),
        (lambda ids: ids.update({"new": "x"}), "Expected ids >= 0 of pieces"),
        (lambda ids: ids.update({"new": -1}), "Expected ids >= 0 of pieces"),
        (lambda ids: ids.clear(), "Expected ids >= 0 of pieces"),
    ],
)
def test_a_vocabulary_that_does_not_fit(folder, change, message):
    path = folder / "vocab.json"
    ids = json.loads(path.read_text(encoding="utf-8"))
    change(ids)
    path.write_text(json.dumps(ids), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load_translator(folder)


def test_damaged_files(folder):
    for name, message in (
        ("model.safetensors", "Expected a whole .safetensors file"),
        ("vocab.json", "Expected JSON"),
        ("config.json", "Expected JSON"),
        ("source.spm", "Expected a SentencePiece model"),
    ):
        path, whole = folder / name, (folder / name).read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ValueError, match=message) as caught:
            load_translator(folder)
        assert str(folder) in str(caught.value)
        path.write_bytes(whole)
    load_translator(folder)


def test_a_malicious_pickle_runs_nothing(folder, tmp_path):
    (folder / "model.safetensors").unlink()
    mark = tmp_path / "mark"

    class Evil:
        def __reduce__(self):
            return mark.touch, ()

    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"model.shared.weight": Evil()}))
    with pytest.raises(ValueError, match=r"pytorch_model\.bin"):
        load_translator(folder)
    assert not mark.exists()


def test_torch_files_are_read(folder):
    """Many translators of the hub have a pytorch_model.bin alone."""
    expected = load_translator(folder).model.weights
    arrays = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch_file.write_state(folder / "pytorch_model.bin", arrays)
    for own, other in zip(load_translator(folder).model.weights, expected, strict=True):
        np.testing.assert_array_equal(own, other)


def test_weights_in_parts(folder):
    arrays = load_file(folder / "model.safetensors")
    expected = load_translator(folder).model.weights
    (folder / "model.safetensors").unlink()
    files = {}
    for place, name in enumerate(arrays):
        files[name] = f"model-0000{place % 2 + 1}-of-00002.safetensors"
    for file in set(files.values()):
        save_file({name: arrays[name] for name in arrays if files[name] == file}, folder / file)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": files}), encoding="utf-8")
    for own, other in zip(load_translator(folder).model.weights, expected, strict=True):
        np.testing.assert_array_equal(own, other)
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(ValueError, match=r"model-00002-of-00002\.safetensors beside .* may not"):
        load_translator(folder)
    files["final_logits_bias"] = "../model.safetensors"
    index.write_text(json.dumps({"weight_map": files}), encoding="utf-8")
    with pytest.raises(ValueError, match=r"'\.\./model\.safetensors', which is no .*beside it"):
        load_translator(folder)


def test_languages(tmp_path):
    nllb = copied("nllb", tmp_path)
    for given, message in (
        (("eng_Latn", None), r"Expected target_language, one of .*deu_Latn.*Received: None"),
        (("english", "deu_Latn"), r"Expected source_language, one of .*Received: 'english'"),
    ):
        with pytest.raises(ValueError, match=message):
            load_translator(nllb, *given)
    with pytest.raises(ValueError, match=r"no languages for a model of one pair.*Received: en, de"):
        load_translator(GOLDEN / CASE, "en", "de")
    (nllb / "special_tokens_map.json").unlink()
    settings(nllb, "tokenizer_config.json", additional_special_tokens=None)
    settings(nllb, "tokenizer_config.json", extra_special_tokens=None)
    with pytest.raises(ValueError, match=r"Expected the tokens of languages as additional_special"):
        load_translator(nllb, *LANGUAGES["nllb"])


@pytest.mark.parametrize("listed", [7, "deu_Latn", [None], [{"content": 3}], {"a": "b"}])
def test_lists_of_languages_that_are_none(listed, tmp_path):
    nllb = copied("nllb", tmp_path)
    settings(nllb, "special_tokens_map.json", additional_special_tokens=listed)
    with pytest.raises(ValueError, match="Expected the tokens of languages as additional_special"):
        load_translator(nllb, *LANGUAGES["nllb"])


@pytest.mark.parametrize("line", ["new: -1", "new: 7", "new: x", "new: [1]"])
def test_a_vocabulary_in_yaml_that_does_not_fit(line, tmp_path):
    folder = copied("marian_npz", tmp_path)
    (path,) = folder.glob("*.vocab.yml")
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"vocab\.yml|each id once"):
        load_translator(folder)


def test_a_name_of_the_hub_with_a_file_of_torch_alone(tmp_path, monkeypatch):
    huggingface_hub = pytest.importorskip("huggingface_hub")
    asked, folder = [], copied(CASE, tmp_path)
    arrays = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()

    def download(name, allow_patterns):
        asked.append(allow_patterns[0])
        if allow_patterns[0] == "pytorch_model.bin":
            torch_file.write_state(folder / "pytorch_model.bin", arrays)
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    monkeypatch.chdir(tmp_path)
    assert load("someone/opus-mt-xx-yy").kind == "marian"
    assert asked == ["model*.safetensors", "pytorch_model.bin"]


def test_the_first_mbart_is_refused(tmp_path):
    with pytest.raises(ValueError, match="answers that begin with their language itself"):
        load_translator(copied("mbart", tmp_path), "en_XX", "de_DE")


def test_names_that_lead_nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("../..", "..", "a/../b", "no such", "C:\\x"):
        with pytest.raises((ValueError, OSError)):
            load_translator(name)


def test_load_tells_kinds_apart():
    assert load(GOLDEN / CASE).kind == "marian"
    assert load(GOLDEN / "t5").kind == "t5"

import shutil

import pytest

from keras_attn_pipelines.demo.photographs import CAPTIONER
from keras_attn_pipelines.runs.saved_description import SavedDescription


def vocabularies_of(folder):
    saved = SavedDescription.read(folder)
    return saved.vocabularies(saved.experiment())


def test_the_captioner_in_the_box_is_verified_by_the_digests_on_its_card(tmp_path, capsys):
    assert "digests" not in SavedDescription.read(CAPTIONER).metadata
    assert vocabularies_of(CAPTIONER)["tokenizer"].vocabulary_size > 0
    assert capsys.readouterr().err == ""
    version = tmp_path / "1"
    shutil.copytree(CAPTIONER / "1", version, ignore=shutil.ignore_patterns("variables.data*"))
    file = version / "assets.extra" / "tokenizer" / "tokenizer.json"
    file.write_text(file.read_text() + "\n")
    with pytest.raises(ValueError, match=r"/tokenizer\. Received: damaged or different ones"):
        vocabularies_of(version)


def test_a_card_without_digests_verifies_nothing(tmp_path, capsys):
    version = tmp_path / "1"
    shutil.copytree(CAPTIONER / "1", version, ignore=shutil.ignore_patterns("variables.data*"))
    (version / "README.md").write_text("# A captioner\n")
    vocabularies_of(version)
    assert capsys.readouterr().err.startswith("not verified: ")

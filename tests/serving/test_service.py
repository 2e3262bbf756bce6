"""The service and its export: pictures in, text out, no XLA."""

import hashlib
import io
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_attn.contracts import ERROR, MISSING_ROWS, SCORE, TEXT
from keras_attn.decoding import Beam, Greedy
from keras_attn.images.formats.reasons import DAMAGED, EMPTY, UNKNOWN
from keras_attn.images.picture_format import PictureFormat
from keras_attn.serving.export import (
    export_service,
    graph_ops,
    next_version,
    unservable_ops,
)
from tests.serving.model_cards import digests_on_card
from tests.serving.tiny_service import PICTURES, captions_of, picture

ASK = Path(__file__).resolve().parent / "ask.py"


@pytest.fixture(scope="module")
def service(tiny_service):
    return tiny_service


@pytest.fixture
def exported(tiny_export, tmp_path):
    return shutil.copytree(tiny_export.parent, tmp_path / "tiny") / tiny_export.name


def test_answers(service):
    answer = service.explain(tf.constant(PICTURES))
    assert answer[TEXT].shape == answer[SCORE].shape == (5, 2)
    assert answer["weights"].shape == (5, 2, 7, 3, 4)
    assert answer[ERROR].numpy().tolist() == [b"", b"", UNKNOWN.encode(), b"", EMPTY.encode()]
    sums = np.sum(answer["weights"], (3, 4))
    np.testing.assert_allclose(sums, answer["tokens"].numpy() != 0, atol=1e-5)
    assert not np.any(answer["tokens"][2]) and answer[TEXT][2, 0] == b""
    scores = answer[SCORE].numpy()[[0, 1, 3]]
    assert (scores[:, 0] >= scores[:, 1]).all() and (scores < 0).all()


def test_a_picture_cut_short_is_answered_with_a_note(service):
    data = picture(5, (29, 83), "JPEG")
    cut = tf.constant([data, data[:-130], data[:-2], data[:-2000]])
    for answer in (service.answer(cut), service.explain(cut)):
        assert answer[MISSING_ROWS].numpy().tolist() == [0, 3, 1, 0]
        assert answer[ERROR].numpy().tolist() == [b"", b"", b"", DAMAGED.encode()]
    (note,) = service.reader.notes
    assert note in service.views and [note.read({MISSING_ROWS: rows}) for rows in (0, 1, 3)] == [
        "",
        "the picture is cut short near its end",
        "the picture is cut short: its last 3 rows are missing",
    ]


@pytest.mark.systems
def test_no_piece_is_said_twice(service):
    """With a guard of one piece; without it, this untrained service does repeat itself."""
    repeats = []
    for size in (0, 1):
        given = service.model, service.writer.vocabulary, Greedy()
        guarded = captions_of(*given, no_repeat_ngram=size)
        assert guarded.metadata()["no_repeat_ngram"] == size
        tokens = guarded.explain(tf.constant(PICTURES))["tokens"].numpy()[:, 0]
        repeats.append(any(len(set(row[row > 0])) < np.sum(row > 0) for row in tokens))
    assert repeats == [True, False]


def test_export_has_versions_a_card_and_no_xla(service, exported):
    assert exported.name == "1" and not unservable_ops(exported)
    assert {"SentencepieceOp", "DecodeImage"} <= graph_ops(exported)
    assert not {"ReadFile", "WriteFile", "MatchingFiles"} & graph_ops(exported)
    assert export_service(service, exported.parent, "new card") == exported.parent / "2"
    assert next_version(exported.parent) == 3
    assert sorted(entry.name for entry in exported.parent.iterdir()) == ["1", "2", "README.md"]
    card = (exported.parent / "README.md").read_text()
    assert card.startswith("new card\n\n## Files\n")
    assert card == (exported.parent / "2" / "README.md").read_text()


def test_the_card_has_the_digest_of_every_other_file(exported):
    files = {
        path.relative_to(exported).as_posix() for path in exported.rglob("*") if path.is_file()
    }
    assert digests_on_card(exported).keys() == files - {"README.md"}
    assert {"saved_model.pb", "variables/variables.index"} <= files
    for name, digest in digests_on_card(exported).items():
        assert digest == hashlib.sha256((exported / name).read_bytes()).hexdigest()
    check = ["sha256sum", "--check", "--quiet", "README.md"]
    assert subprocess.run(check, cwd=exported, capture_output=True).returncode == 0
    with (exported / "saved_model.pb").open("ab") as file:
        file.write(b"\0")
    done = subprocess.run(check, cwd=exported, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == "saved_model.pb: FAILED\n"


@pytest.mark.systems
def test_export_that_fails_leaves_nothing(service, tmp_path, monkeypatch):
    monkeypatch.setattr("keras_attn.serving.export.unservable_ops", lambda path: {"XlaSort"})
    with pytest.raises(ValueError, match=r"Received: \['XlaSort'\]"):
        export_service(service, tmp_path / "model", "card")
    assert not (tmp_path / "model").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="Received: a file at"):
        export_service(service, tmp_path / "file", "card")


@pytest.mark.systems
def test_process_without_our_package(service, exported, tmp_path):
    paths = [tmp_path / f"{row}.img" for row in range(3)]
    for path, data in zip(paths, PICTURES):
        path.write_bytes(data)
    command = [sys.executable, "-P", str(ASK), str(exported), *map(str, paths)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    texts = [line.split("\t")[2] for line in done.stdout.splitlines()]
    expected = service.answer(tf.constant(PICTURES[:3]))
    assert texts[:2] == [text.decode() for text in expected[TEXT][:2, 0].numpy()]
    assert texts[2] == UNKNOWN
    assert "keras_attn" not in ASK.read_text()


def test_greedy_service(service):
    given = service.model, service.writer.vocabulary
    greedy, beam = captions_of(*given, Greedy()), captions_of(*given, Beam(1))
    for value, expected in zip(
        greedy.answer([PICTURES[0]]).values(), beam.answer([PICTURES[0]]).values()
    ):
        if value.dtype == tf.string:
            assert value.numpy().tolist() == expected.numpy().tolist()


@pytest.mark.parametrize("fit", ["squash", "crop"])
@pytest.mark.parametrize("size", [(13, 11), (40, 11), (13, 70), (3, 5), (1, 1)])
def test_picture_format(fit, size):
    picture_format = PictureFormat(11, 13, fit)
    data = picture(4, size)
    pixels = picture_format.decode(tf.constant(data)).numpy()
    assert pixels.shape == (11, 13, 3) and pixels.dtype == np.uint8
    if size == (13, 11):
        np.testing.assert_array_equal(pixels, np.asarray(Image.open(io.BytesIO(data))))


def test_crop_keeps_the_center():
    pixels = np.zeros((10, 30, 3), "uint8")
    pixels[:, 10:20] = 200
    cropped = PictureFormat(5, 5, "crop").resize(tf.constant(pixels)).numpy()
    assert (cropped == 200).all()
    assert not (PictureFormat(5, 5, "squash").resize(tf.constant(pixels)).numpy() == 200).all()


def test_bad_formats():
    with pytest.raises(ValueError, match="Received: 0x5"):
        PictureFormat(0, 5)
    with pytest.raises(ValueError, match="Received: 'stretch'"):
        PictureFormat(5, 5, "stretch")

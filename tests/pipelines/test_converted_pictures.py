"""Pictures of other formats: converted once for training, refused by name elsewhere."""

import io
import sys

import numpy as np
from PIL import Image, ImageOps

from keras_attn.images.formats.reasons import AVIF, BMP_KIND, HEIC, TIFF, UNKNOWN
from keras_attn.images.picture_format import PictureFormat, read_picture
from keras_attn.saved.inputs import PICTURES
from keras_attn_pipelines.data import converted_pictures
from keras_attn_pipelines.data.picture_splits import split_pictures
from keras_attn_pipelines.data.readers.picture_kinds import read_labels
from tests.images.encoded_pictures import DEEP, PALETTE, RGB, RGBA, encoded

EXIF = Image.Exif()
EXIF[0x0112] = 6
TURNED = encoded(RGB, "TIFF", exif=EXIF)
FRAMES = encoded(RGB, "TIFF", save_all=True, append_images=[RGB])
HEIC_START = b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic"
CONVERTED = {
    "rgb.tif": encoded(RGB, "TIFF"),
    "alpha.TIFF": encoded(RGBA, "TIFF"),
    "deep.tif": encoded(DEEP, "TIFF"),
    "turned.tiff": TURNED,
    "deep, big-endian.tif": encoded(Image.fromarray(np.asarray(DEEP).astype(">u2")), "TIFF"),
    "palette.bmp": encoded(PALETTE, "BMP"),
    "a.avif": encoded(RGBA, "AVIF"),
}
REFUSED = {
    "frames.tif": (FRAMES, "TIFF of 2 frames, of which only one is supported"),
    "cut.tif": (TURNED[:60], "TIFF, which Pillow cannot convert"),
    "float.tif": (encoded(RGB.convert("F"), "TIFF"), "TIFF of 32 bits a channel"),
    "a.heic": (HEIC_START, "HEIC, which needs pillow-heif: pip install 'keras-attn[heif]'"),
}


def written(folder):
    data = {**CONVERTED, **{name: data for name, (data, _) in REFUSED.items()}}
    for place, (name, item) in enumerate(data.items()):
        kind = folder / ("red", "blue")[place % 2]
        kind.mkdir(exist_ok=True)
        (kind / name).write_bytes(item)
    return folder


def test_each_is_converted_once_and_keeps_its_name_and_digest(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    data, cache = written(tmp_path), tmp_path / ".cache"
    read = read_labels(data, cache=cache)
    by_name = {picture.name.split("/")[1]: picture for picture in read.pictures}
    assert by_name.keys() == CONVERTED.keys()
    for name, picture in by_name.items():
        assert picture.path.parent == cache / "converted" and picture.path.stem == picture.digest
        original = ImageOps.exif_transpose(Image.open(io.BytesIO(CONVERTED[name])))
        if not name.startswith("deep"):
            white = Image.new("RGBA", original.size, "white")
            original = Image.alpha_composite(white, original.convert("RGBA")).convert("RGB")
            np.testing.assert_allclose(read_picture(picture.path.read_bytes()), original, atol=1)
    expected = read_picture(encoded(DEEP, "PNG"))
    for name in ("deep.tif", "deep, big-endian.tif"):
        np.testing.assert_array_equal(read_picture(by_name[name].path.read_bytes()), expected)
    reasons = {skip.name.split("/")[1]: skip.reason for skip in read.skipped}
    assert reasons.keys() == REFUSED.keys()
    assert all(reason in reasons[name] for name, (_, reason) in REFUSED.items())

    asked, convert = [], converted_pictures._convert
    monkeypatch.setattr(
        converted_pictures,
        "_convert",
        lambda *given: asked.append(given[0].name) or convert(*given),
    )
    assert read_labels(data, cache=cache) == read and set(asked) == set(REFUSED)
    damaged = by_name["rgb.tif"].path
    damaged.write_bytes(damaged.read_bytes()[:-30])
    assert read_labels(data, cache=cache) == read and asked.count("rgb.tif") == 1
    np.testing.assert_array_equal(read_picture(damaged.read_bytes()), np.asarray(RGB))


def test_pictures_are_split_by_their_originals(tmp_path):
    for kind in ("red", "blue"):
        (tmp_path / kind).mkdir()
    for place in range(7):
        (tmp_path / "red" / f"{place}.tif").write_bytes(encoded(RGB.rotate(place), "TIFF"))
    (tmp_path / "blue" / "again.tif").write_bytes(encoded(RGB.rotate(3), "TIFF"))
    read = read_labels(tmp_path)
    split = split_pictures(tmp_path, read, 0.3, 0.3)
    found = {picture.name: name for name, pictures in split.items() for picture in pictures}
    assert len(found) == 8 and found["red/3.tif"] == found["blue/again.tif"]


def test_requests_are_refused_by_name():
    reasons = {
        CONVERTED["rgb.tif"]: TIFF,
        b"MM\0*" + bytes(8): TIFF,
        CONVERTED["a.avif"]: AVIF,
        b"\0\0\0\x1cftypmif1\0\0\0\0mif1avif": AVIF,
        HEIC_START: HEIC,
        CONVERTED["palette.bmp"]: BMP_KIND,
        b"\0\0\0\x14ftypisom\0\0\0\0isom": UNKNOWN,
    }
    refused = PictureFormat(5, 7).decode_batch([*reasons])[2].numpy()
    assert [reason.decode() for reason in refused] == [*reasons.values()]


def test_predict_takes_them_from_a_folder_so_that_each_is_refused(tmp_path):
    (tmp_path / "a.TIF").write_bytes(TURNED)
    (tmp_path / "b.heic").write_bytes(HEIC_START)
    assert PICTURES.expand([str(tmp_path)]) == [str(path) for path in sorted(tmp_path.iterdir())]

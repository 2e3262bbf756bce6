"""Damage of every kind to every file that a command reads: one message names it, exit code 2."""

import gzip
import io
import json
import zipfile

import numpy as np
import pytest

from keras_attn.alignment import Aligner, save_aligner
from keras_attn.pretrained.files import read_checkpoint_files
from keras_attn_pipelines.cli import main
from tests.alignment.pairs import SOURCES, TARGETS

DIGITS = "9" * 5000
XML = '<benchmark><entries><entry category="x"><modifiedtripleset><mtriple>a | b | c</mtriple>'
XML += "</modifiedtripleset><lex><text>d</text></lex></entry></entries></benchmark>"
FACT = json.dumps({"triples": [["a", "b", "c"]], "texts": ["d"]})
PAIR, WORDS = json.dumps({"en": "a", "de": "b"}), json.dumps({"src_words": ["a"], "tgt_words": []})
COLUMNS = ["--source-column", "en", "--target-column", "de"]


def train(recipe, *flags):
    return lambda folder, file: ["train", recipe, "--data", str(folder), *flags, "--out", "run"]


def align(*flags):
    return lambda folder, file: ["align", *(str(folder / flag) for flag in flags)]


def gold(folder, file):
    return ["align", str(folder / "a.tsv"), "--gold", str(folder / file)]


FILES = {
    "table": (train("translator_transformer", *COLUMNS), "train.tsv", "en\tde\na\tb\n"),
    "json_lines": (train("translator_transformer", *COLUMNS), "train.jsonl", PAIR),
    "parallel": (train("translator_transformer", *COLUMNS), "train.en", "a\n"),
    "labeled": (train("text_classifier"), "train.csv", "text,label\na,b\n"),
    "facts": (train("webnlg_graph"), "train.jsonl", FACT),
    "facts_xml": (train("webnlg_graph"), "train.xml", XML),
    "fact_table": (train("webnlg_graph"), "train.csv", "a,text\nb,c\n"),
    "trees": (train("parser_transformer"), "train.mrg", "(S (X a))"),
    "stories": (train("babi_memory_network"), "qa1_train.txt", "1 a b\n2 c?\tb\n"),
    "captions": (train("scenes", "--captions-file", "x.json"), "x.json", "[]"),
    "align_table": (align("a.tsv"), "a.tsv", "a\tb\n"),
    "align_json": (align("a.jsonl"), "a.jsonl", WORDS),
    "align_parallel": (align("a.en", "a.de"), "a.de", "b\n"),
    "gold": (gold, "gold", "0-0\n"),
    "gold_json": (gold, "gold.jsonl", '{"alignment": [[0, 0]]}'),
}


def cut(text):
    return gzip.compress(text.encode())[:-5]


def flipped(text):
    """Damage in the middle, where the checksum at the end is not reached."""
    packed = bytearray(gzip.compress(text.encode() * 99))
    packed[12:16] = b"\xff\xff\xff\xff"
    return bytes(packed)


SENTENCES = ("deep", "deep_xml", "encoding", "digits", "digits_in_json", "empty")
"""What are sentences too."""
FINE = {"align_table": ("digits", "empty"), "align_json": ("empty",), "align_parallel": SENTENCES}
DAMAGE = {
    "cut": cut,
    "flipped": flipped,
    "utf_16": lambda text: text.encode("utf-16"),
    "not_utf_8": lambda text: b"\xff\xfe\xfd" + text.encode(),
    "deep": lambda text: "".join(sign * 100_000 for sign in '[({"').encode(),
    "deep_xml": lambda text: b"<a>" * 100_000,
    "encoding": lambda text: b'<?xml version="1.0" encoding="none"?><a/>',
    "digits": lambda text: f"{DIGITS} {DIGITS}-{DIGITS}\t[{DIGITS}]\n".encode(),
    "digits_in_json": lambda text: f'{{"alignment": [[0, {DIGITS}]]}}'.encode(),
    "empty": lambda text: b"",
}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a command that is to fail, and gives its message."""
    monkeypatch.chdir(tmp_path)

    def message(command):
        capsys.readouterr()
        code, error = main(command), capsys.readouterr().err
        assert code == 2 and error.startswith("keras-attn: ") and "Traceback" not in error, error
        assert not (tmp_path / "run").exists()
        return error

    return message


@pytest.mark.parametrize("name", FILES)
def test_damaged_texts(name, tmp_path, run):
    command, file, text = FILES[name]
    data = tmp_path / "data"
    data.mkdir()
    for other, content in (("a.tsv", "a\tb\n"), ("a.en", "a\n"), ("train.de", "b\n")):
        if name in ("gold", "gold_json", "align_parallel", "parallel"):
            (data / other).write_text(content)
    for damage in DAMAGE.keys() - FINE.get(name, ()):
        made = DAMAGE[damage]
        (data / file).write_bytes(made(text))
        assert str(data) in run(command(data, file)), damage


def arrays_of(members):
    """An `.npz` file of some members."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return content.getvalue()


def declared(shape, dtype="<f8"):
    """An array that declares a shape, and has three numbers."""
    content = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(content, header)
    return content.getvalue() + bytes(24)


def broken(data):
    """Bytes with damage in the numbers of the first array."""
    return data[:200] + b"\xff" * 9 + data[209:]


ARCHIVES = {
    "shape": lambda whole: arrays_of({"keys.npy": declared((10**13,))}),
    "shapes": lambda whole: arrays_of({"keys.npy": declared((10**7, 10**7, 10**7))}),
    "negative": lambda whole: arrays_of({"keys.npy": declared((-3,))}),
    "dtype": lambda whole: arrays_of({"keys.npy": declared((3,), "<U400000000")}),
    "header": lambda whole: arrays_of({"keys.npy": b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16}),
    "version": lambda whole: arrays_of({"keys.npy": b"\x93NUMPY\x09\x00\x10\x00" + b"(" * 16}),
    "text": lambda whole: arrays_of({"keys.npy": b"text"}),
    "cut": lambda whole: whole[: len(whole) // 2],
    "broken": broken,
    "one_array": lambda whole: declared((3,)),
    "empty": lambda whole: b"",
}


@pytest.mark.parametrize("damage", ARCHIVES)
def test_damaged_arrays(damage, tmp_path, run):
    aligner = tmp_path / "aligner"
    save_aligner(Aligner.train(SOURCES, TARGETS), aligner)
    (tmp_path / "a.tsv").write_text("a\tb\n")
    whole = (aligner / "tables.npz").read_bytes()
    (aligner / "tables.npz").write_bytes(ARCHIVES[damage](whole))
    error = run(["align", "a.tsv", "--load", str(aligner)])
    assert f"an aligner at {aligner}. Received: tables.npz: " in error
    (tmp_path / "digits.npz").write_bytes(ARCHIVES[damage](whole))
    assert "digits.npz" in run(["train", "digits_stn", "--data", "digits.npz", "--out", "run"])
    with pytest.raises(ValueError, match=r"Expected a whole \.npz file at 'digits\.npz'"):
        read_checkpoint_files("digits.npz")


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 150 + "]" * 150, '{"format": ' + DIGITS, ""])
def test_damaged_descriptions(text, tmp_path, run):
    aligner = tmp_path / "aligner"
    aligner.mkdir()
    (aligner / "aligner.json").write_text(text)
    (tmp_path / "a.tsv").write_text("a\tb\n")
    assert f"{aligner}. Received: aligner.json: " in run(["align", "a.tsv", "--load", str(aligner)])
    for name, command in (("recipe.json", "evaluate"), ("recipe.json", "export")):
        (aligner / name).write_text(text)
        end = ["out"] if command == "export" else ["--data", "a.tsv"]
        assert str(aligner / name) in run([command, str(aligner), *end])


@pytest.mark.parametrize("raised", ["class Own(BaseException): pass\nraise Own('x')", "exit(3)"])
def test_a_recipe_file_that_raises_whatever_it_likes(raised, tmp_path, run):
    (tmp_path / "own.py").write_text(raised)
    for command in (["recipes", "own.py"], ["train", "own.py", "--data", ".", "--out", "run"]):
        assert "Expected a recipe file that runs. Received: " in run(command)


def test_a_user_who_stops_a_recipe_file(tmp_path):
    (tmp_path / "own.py").write_text("raise KeyboardInterrupt")
    assert main(["recipes", str(tmp_path / "own.py")]) == 130


def test_align_has_the_limit_of_text_files(tmp_path, run, monkeypatch):
    (tmp_path / "a.tsv").write_bytes(gzip.compress(b"a\tb\n" * 100))
    (tmp_path / "b.tsv").write_text("a\tb\n")
    (tmp_path / "gold").write_bytes(b"0-0\n" * 100)
    monkeypatch.setenv("KERAS_ATTN_MAX_TEXT_BYTES", "399")
    for command, file in ((["a.tsv"], "a.tsv"), (["b.tsv", "--gold", "gold"], "gold")):
        error = run(["align", *command])
        assert f"at most 399 bytes in {file}" in error and "KERAS_ATTN_MAX_TEXT_BYTES" in error

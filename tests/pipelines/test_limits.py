"""Input that is too much, or that hurts: refused at once, with what was expected and where."""

import gzip

import pytest

from keras_attn.pretrained import files
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.text_file import bytes_of
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.data.readers.pair_reader import pair_sources
from keras_attn_pipelines.data.record import MOST_CHARACTERS, unusable
from keras_attn_pipelines.data.text_lines import lines_of
from keras_attn_pipelines.experiment import SGD, Adam, Cosine, InverseSquareRoot
from keras_attn_pipelines.experiment.evaluation import Evaluation
from keras_attn_pipelines.experiment.pieces import Pieces
from keras_attn_pipelines.runs.export import _counts
from tests.pipelines.labeled_pictures import write_classes

LIMIT = "KERAS_ATTN_MAX_TEXT_BYTES"


@pytest.mark.parametrize("packed", [False, True])
def test_a_text_that_unpacks_to_too_much_is_not_read(packed, tmp_path, monkeypatch):
    path = tmp_path / "train.en"
    content = b"word " * 1000
    path.write_bytes(gzip.compress(content) if packed else content)
    monkeypatch.setenv(LIMIT, "5000")
    assert bytes_of(path) == content
    monkeypatch.setenv(LIMIT, "4999")
    with pytest.raises(ValueError, match=rf"at most 4999 bytes in .*train\.en.*set {LIMIT}"):
        bytes_of(path)
    assert bytes_of(path, 7) == content[:7]
    for value in ("", "0", "1e9", "-3"):
        monkeypatch.setenv(LIMIT, value)
        with pytest.raises(ValueError, match=f"{LIMIT} to be an integer >= 1. Received: '{value}'"):
            bytes_of(path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a dog", ""),
        ("", "empty caption"),
        (" \t\u00a0", "empty caption"),
        ("\u200b\u200d\ufeff\u2060 \u00ad", "empty caption"),
        ("\u200bx", ""),
        ("w " * 50_001, "caption of 50001 words (expected at most 50000)"),
        ("c" * (MOST_CHARACTERS + 1), "caption of 500001 characters (expected at most 500000)"),
    ],
)
def test_texts_that_are_none(text, reason):
    assert unusable("caption", text) == reason


def test_captions_have_the_limits_of_texts(tmp_path, capsys):
    write_classes(tmp_path)
    pictures = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.png"))[:3]
    captions = ["a dog", "\u200b\u200b", "x" * (MOST_CHARACTERS + 1)]
    rows = [f"{picture}\t{text}" for picture, text in zip(pictures, captions)]
    (tmp_path / "captions.tsv").write_text("image\tcaption\n" + "\n".join(rows) + "\n")
    assert main(["train", "scenes", "--data", str(tmp_path), "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err
    assert "captions.tsv:3: empty caption" in told
    assert "captions.tsv:4: caption of 500001 characters (expected at most 500000)" in told


def test_a_line_that_is_too_long_is_skipped_and_named(tmp_path):
    (tmp_path / "train.en").write_bytes(
        b"\xef\xbb\xbfa\r\n" + b"b" * (MOST_CHARACTERS + 1) + b"\n\n"
    )
    (tmp_path / "train.de").write_text("ein\nzwei\ndrei")
    assert [len(line) for line in lines_of(tmp_path / "train.en")] == [1, MOST_CHARACTERS + 1, 0]
    (source,) = pair_sources(tmp_path, "en", "de").values()
    file = source.read()
    assert [pair.source for pair in file.pairs] == ["a"]
    reasons = [f"{skipped.line}: {skipped.reason}" for skipped in file.skipped]
    assert reasons == [
        "2: source of 500001 characters (expected at most 500000)",
        "3: empty source",
    ]


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "on 1 of the pictures, "), (15, "of up to 13 points"), (99, "5 points"), (100, None)],
)
def test_a_metric_on_few_records_says_so(count, words):
    result = Evaluation({}, {"BLEU": "3"}, count, "pictures", split="dev").table()
    assert ("Few records" in result) == (words is not None) and (words or "") in result


def test_vocabularies_that_the_texts_do_not_fill():
    tokenizer = Tokenizer.learn(["a dog"], 400)
    size = tokenizer.vocabulary_size
    expected = f"tokenizer: {size} pieces instead of 400, the texts have no more"
    assert Pieces(vocabulary_size=400).notes(tokenizer=tokenizer) == [expected]
    assert Pieces(vocabulary_size=size).notes(tokenizer=tokenizer) == []


def test_a_vocabulary_without_room_for_the_characters():
    texts = ["".join(chr(0x4E00 + number) for number in range(500))]
    with pytest.raises(ValueError, match=r"room for 50\d characters .*; 7\d\d is enough"):
        Tokenizer.learn(texts, 270)
    assert Tokenizer.learn(texts, 770).vocabulary_size <= 770


def test_settings_that_are_nested_too_deeply(tmp_path):
    (tmp_path / "config.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match=r"Expected JSON in .*config\.json"):
        files.read_settings(tmp_path / "config.json")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--tolerance", "2"], "Expected tolerance between 0 and 1. Received: tolerance=2"),
        (["--beam-width", "100000"], "beam_width between 1 and 1000. Received: beam_width=100000"),
        (["--cache", "{file}"], "Expected a folder at {file}. Received: a file"),
        (["--out", "{file}"], "Received: a file"),
        (["--out", "/proc/run"], "/proc/run"),
    ],
)
def test_bad_choices_are_refused_before_anything_is_read(flags, message, tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("x")
    (tmp_path / "empty").mkdir()
    flags = [flag.format(file=file) for flag in flags]
    command = ["train", "scenes", "--data", str(tmp_path / "empty"), "--out", str(tmp_path / "run")]
    assert main([*command, *flags]) == 2
    assert message.format(file=file) in capsys.readouterr().err.splitlines()[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file"]


FAILING = """
from dataclasses import replace
from keras_attn_pipelines.experiment import part, option
from keras_attn_pipelines.recipes.scenes import RECIPE as SCENES

@part
class Failing:
    average: int = option("number of last epochs to average", default=1, least=1)

    def build(self, steps, slow_layers=(), slow_from=0):
        {raised}

RECIPE = replace(SCENES, optimizer=Failing())
"""


def test_a_recipe_file_that_ends_the_process(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text("import sys\nsys.exit(3)\n")
    command = ["train", str(path), "--data", str(tmp_path), "--out", str(tmp_path / "run")]
    assert main(command) == 2
    assert f"{path} with SystemExit: 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    "raised", ["raise KeyError('none')", "raise SystemExit(4)", "raise GeneratorExit"]
)
def test_a_part_of_a_recipe_file_that_fails_is_named(raised, tmp_path):
    from keras_attn_pipelines.experiment.recipe_file import load_recipe_file, naming_recipe_file

    path = tmp_path / "mine.py"
    path.write_text(FAILING.format(raised=raised))
    optimizer = load_recipe_file(path).optimizer
    kind = raised.split("(")[0].removeprefix("raise ")
    with (
        pytest.raises(ValueError, match=rf"Failing of the recipe file.*{kind}.*mine\.py:11$"),
        naming_recipe_file(),
    ):
        optimizer.build(3)


def test_texts_of_a_run_cannot_write_on_the_card():
    counts = {"unit": "pic<b>tures", "records": {"tr\nain": 3}}
    assert _counts(counts) == "pic&#60;b&#62;tures 3 tr ain"


@pytest.mark.parametrize("schedule", [Cosine, InverseSquareRoot])
@pytest.mark.parametrize("kind", [Adam, SGD])
def test_a_warm_up_is_at_most_a_third_of_training_and_says_so(kind, schedule):
    part = kind(schedule=schedule(warmup_steps=1600), learning_rate=0.5)
    assert part.notes(4800) == []
    assert part.notes(570) == ["warm-up: 190 steps, a third of 570, not 1600"]
    schedule = part.build(570)._learning_rate
    rates = [float(schedule(step)) for step in range(570)]
    assert 187 <= rates.index(max(rates)) <= 191 and max(rates) == pytest.approx(0.5, rel=0.01)

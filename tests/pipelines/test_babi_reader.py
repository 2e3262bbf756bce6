"""The reader of bAbI tasks, its splits, and what is wrong with a file."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import QUESTION, STORY
from keras_attn.text.plain_words import plain_words
from keras_attn_pipelines.data.readers.babi_reader import read_task, task_files
from keras_attn_pipelines.experiment.parts import Setting
from keras_attn_pipelines.recipes.babi_memory_network import RECIPE
from keras_attn_pipelines.tasks.question_answering import BabiTasks
from tests.pipelines import toy_stories

BABI = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "babi" / "en"
LINES = (
    "1 Mary moved to the bathroom.",
    "2 John went to the hallway.",
    "3 Where is Mary? \tbathroom\t1",
    "4 Mary took the milk.",
    "5 What is Mary carrying?\tMilk,Apple\t2 4",
    "1 Sandra left.",
    "2 Is Sandra there? \tno",
)


def written(folder, lines=LINES, name="qa7_two-things_train.txt"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def read(folder, split="train"):
    (file,) = task_files(folder)[split]
    return read_task(file)


def test_stories_and_questions(tmp_path):
    first, second, third = read(written(tmp_path))
    assert first.story == ("Mary moved to the bathroom.", "John went to the hallway.")
    assert (first.task, first.question, first.answer) == (7, "Where is Mary?", "bathroom")
    assert second.story == (*first.story, "Mary took the milk.") and second.answer == "milk,apple"
    assert (third.story, third.answer, third.line) == (("Sandra left.",), "no", 7)
    assert third.file == "qa7_two-things_train.txt"


@pytest.mark.parametrize(
    ("name", "split", "title"),
    [
        ("qa3_three-supporting-facts_train.txt", "train", "three supporting facts"),
        ("qa3_three-supporting-facts_test.txt", "test", "three supporting facts"),
        ("qa3_train.txt", "train", "qa3"),
        ("qa3_valid.txt", "dev", "qa3"),
    ],
)
def test_names_of_files(name, split, title, tmp_path):
    written(tmp_path, name=name)
    written(tmp_path, name="README.txt")
    files = task_files(tmp_path)
    assert list(files) == [split] and {(file.task, file.title) for file in files[split]} == {
        (3, title)
    }
    assert len(read(tmp_path, split)) == 3


@pytest.mark.parametrize(
    ("line", "number", "message"),
    [
        ("Mary left.", 4, "Expected a number, a space and a sentence in UTF-8"),
        ("4", 4, "Expected a number, a space and a sentence"),
        ("", 4, "Expected a number, a space and a sentence"),
        ("4  ", 4, "Expected a sentence. Received: '4  '"),
        ("6 Mary left.", 4, "Expected the line number 1 of a story, or 4. Received: 6"),
        ("4 Where is Mary?", 4, "Expected a tab and an answer after a question"),
        ("4 Where is Mary?\t\t1", 4, "Expected an answer of one word, or of several with commas"),
        ("4 Where is Mary?\tthe hallway\t1", 4, "Expected an answer of one word, or of several"),
        ("1 Where is Mary?\thallway\t1", 4, "Expected a sentence of the story before its first"),
    ],
)
def test_a_malformed_line_is_named(line, number, message, tmp_path):
    lines = [*LINES[:3], line, *LINES[4:]]
    with pytest.raises(ValueError, match=rf"qa7_two-things_train\.txt:{number}: {message}"):
        read(written(tmp_path, lines))


def test_bytes_that_are_not_utf8_are_named(tmp_path):
    path = written(tmp_path) / "qa7_two-things_train.txt"
    path.write_bytes(path.read_bytes().replace(b"Mary took", b"M\xe9ry took"))
    with pytest.raises(ValueError, match=r"train\.txt:4: .* in UTF-8"):
        read(tmp_path)


def test_what_is_no_folder_of_tasks(tmp_path):
    with pytest.raises(ValueError, match=r"Expected a folder of bAbI tasks.*no such folder"):
        task_files(tmp_path / "none")
    with pytest.raises(ValueError, match=r"Expected files such as qa1_.*Received: none"):
        task_files(tmp_path)
    written(tmp_path, LINES[:2])
    with pytest.raises(ValueError, match=r"Expected questions in .*Received: none"):
        read(tmp_path)
    written(tmp_path, name="qa7_train.txt")
    with pytest.raises(ValueError, match=r"Expected one file of task 7 for the split 'train'"):
        task_files(tmp_path)


def test_dev_is_held_out_of_train(tmp_path):
    data = toy_stories.write_tasks(tmp_path, train=60)
    source = BabiTasks(dev_share=0.3)
    train, dev, test = (source.split(data, name) for name in ("train", "dev", "test"))
    assert len(train) + len(dev) == 120 and len(test) == 14
    assert {record.task for record in dev} == {record.task for record in train} == {1, 8}
    assert source.read(data).splits == {"train": train, "dev": dev}
    assert source.read(data).lines == ["tasks: 1 (where), 8 (lists sets)"]
    for name in ("qa1_where", "qa8_lists-sets"):
        (tmp_path / f"{name}_valid.txt").write_bytes((tmp_path / f"{name}_test.txt").read_bytes())
    assert [len(source.split(data, name)) for name in ("train", "dev")] == [120, 14]


def test_one_task_alone(tmp_path):
    data = toy_stories.write_tasks(tmp_path)
    assert {record.task for record in BabiTasks(only_task=8).split(data, "test")} == {8}
    with pytest.raises(ValueError, match=r"Expected only_task to be one of 1, 8 in .*only_task=3"):
        BabiTasks(only_task=3).read(data)
    with pytest.raises(ValueError, match=r"Expected files for the split 'novel', such as"):
        BabiTasks().split(data, "novel")


def encoded(data, vocabularies=None, **values):
    recipe = RECIPE.replaced({**toy_stories.TINY, **values})
    records = recipe.source.read(data)
    known = vocabularies or recipe.work.learn(records.splits["train"])
    return recipe.work.encode(records, known, Setting(recipe.model, recipe.fit)), known


def test_batches_and_long_stories(tmp_path):
    data = toy_stories.write_tasks(tmp_path)
    loaded, vocabularies = encoded(data, lengths=(2, 3))
    words, seen = vocabularies["words"], 0
    for inputs, answers, weights in loaded.training(0).take(loaded.steps):
        assert inputs[STORY].shape[1] in (2, 3) and len(answers) == 5
        real = weights.numpy() > 0
        seen += real.sum()
        assert not np.any(inputs[STORY].numpy()[~real]) and np.all(answers.numpy()[real] >= 4)
        for story, question in zip(inputs[STORY].numpy()[real], inputs[QUESTION].numpy()[real]):
            assert story[0].any() and words.names[question[0] - 4] in ("where", "what")
    assert seen == len(loaded.splits["train"])
    long = [len(record.story) - 3 for record in loaded.splits["train"] if len(record.story) > 3]
    expected = f"{len(long)} of {seen} stories of train have more than 3 sentences: their oldest "
    assert f"{expected}are dropped, {sum(long)} in all" in loaded.lines
    newest = next(record for record in loaded.splits["dev"] if len(record.story) > 3)
    shown = {tuple(words.encode(plain_words([text])).values.numpy()) for text in newest.story[-3:]}
    rows = {
        tuple(sentence[sentence > 0])
        for inputs, _, _ in loaded.dev
        for story in inputs[STORY].numpy()
        for sentence in story
    }
    assert shown <= rows


def test_unknown_words(tmp_path):
    data = toy_stories.write_tasks(tmp_path)
    lines = ["1 Zoe went to the park.", "2 Where is Zoe?\tpark\t1"]
    lines += ["1 Mary went to the park.", "2 Where is Mary?\tpluto\t1"]
    lines += ["1 Mary went to the park.", "2 Where is Mary?\tpark\t1"]
    written(tmp_path, lines, "qa1_valid.txt")
    loaded, vocabularies = encoded(data)
    assert len(loaded.splits["dev"]) == 1
    assert [str(skip) for skip in loaded.skipped] == [
        "qa1_valid.txt:2: a word that the vocabulary does not have: 'Zoe went to the park.'",
        "qa1_valid.txt:4: an answer that the vocabulary does not have: 'pluto'",
    ]
    written(tmp_path, lines, "qa1_where_train.txt")
    with pytest.raises(ValueError, match=r"Expected questions of train whose words the vocab.*2 "):
        encoded(data, vocabularies)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mary went to the bathroom.", "mary went to the bathroom"),
        (' "Where is John?", she said', "where is john she said"),
        ("e.g. apples,milk (now)", "e.g apples,milk now"),
        ("  ÉTÉ\t\tici ! ", "été ici"),
        (" ... ", ""),
    ],
)
def test_plain_words(text, expected):
    assert plain_words(tf.constant([text])).numpy()[0].decode() == expected


@pytest.mark.skipif(not BABI.is_dir(), reason="the bAbI tasks are not there")
def test_the_real_tasks_are_read():
    train, test = (BabiTasks(dev_share=0.1).split(BABI, name) for name in ("train", "test"))
    assert len(test) == 20_000 and {record.task for record in train} == set(range(1, 21))
    assert max(len(record.story) for record in test) > 50
    assert "milk,apple" in {record.answer for record in train}

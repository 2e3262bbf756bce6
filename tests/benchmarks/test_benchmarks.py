"""The benchmarks run, on tiny sizes: their tables have their rows. No figure is looked at."""

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from benchmarks import (
    accelerator,
    babi_tasks,
    costs,
    costs_by_records,
    distorted_digits,
    facts_to_sentences,
    hub_captioner_speed,
    layer_complexity,
    length_speed,
    memory_speed,
    picture_pipeline,
    progressive_memory,
    recipe_data,
    sampling_speed,
    sentence_polarity,
    seq2seq_speed,
    serving_rate,
    training_rate,
    training_steps,
    transformer_speed,
    translation_models,
    translation_task,
    unseen_facts,
    vision_speed,
)
from benchmarks.layer_complexity import KINDS
from benchmarks.made_up import UNTRAINED, captions, write_caption_folder, write_pictures
from benchmarks.race import Options
from benchmarks.step_operations import counted, operations, square
from benchmarks.timing import in_turns, ratio, table
from benchmarks.translation_task import GREEDY, TRAIN
from benchmarks.warm_start import set_apart
from keras_attn.models.image_encoders.small_conv_encoder import SmallConvEncoder
from keras_attn.models.memory.progressive_language_model import ProgressiveLanguageModel
from keras_attn.models.transformer import transformer
from keras_attn.models.transformer.transformer_config import TransformerConfig
from keras_attn.serving.stored_shapes import same_numbers
from keras_attn.text.tokenizer import Tokenizer
from keras_attn_pipelines.experiment import part
from keras_attn_pipelines.experiment.sharded import read_records
from keras_attn_pipelines.recipes import load_recipe, recipe_names
from tests.pipelines import labeled_texts, toy_facts, toy_stories

pytestmark = pytest.mark.systems


@part
class TinyEncoder:
    def build(self, image_size):
        return SmallConvEncoder((3,), (5,))


def tiny():
    sizes = {"hidden_dim": 7, "embedding_dim": 3, "attention_dim": 5, "feature_dim": 11}
    counts = {"vocabulary_size": 300, "batch_size": 2, "captions_per_picture": 3}
    recipe = replace(UNTRAINED, model=replace(UNTRAINED.model, encoder=TinyEncoder()))
    return recipe.replaced({"image_size": 16, "lengths": (7, 13), **sizes, **counts})


def cells(markdown):
    """The rows of a Markdown table below its head."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_turns_and_table():
    done = []
    works = {name: lambda name=name: done.append(name) for name in "ab"}
    seconds = in_turns(works, 3)
    assert "".join(done) == "ab" + "abbaab"
    assert {name: len(value) for name, value in seconds.items()} == {"a": 3, "b": 3}
    assert ratio(np.array([2.0, 6.0, 9.0]), np.array([1.0, 2.0, 10.0])) == 2.0
    assert table(("x", "y"), [(1, "z")]) == "| x | y |\n| --- | --- |\n| 1 | z |"


@pytest.fixture
def reviews(tmp_path):
    """A folder with 62 sentences of two labels."""
    for label, name in sentence_polarity.FILES.items():
        kind = {"positive": "good", "negative": "bad"}[label]
        texts = [text for text, known in labeled_texts.examples(60) if known == kind]
        (tmp_path / name).write_bytes("\n".join([*texts, "caf\xe9"]).encode("latin-1"))
    return tmp_path


def test_sentences_of_reviews(reviews):
    pairs = sentence_polarity.sentences(reviews)
    assert len(pairs) == 62 and ("caf\xe9", "positive") in pairs
    folds = [sentence_polarity.splits(pairs, fold) for fold in range(sentence_polarity.FOLDS)]
    assert sorted(pair for split in folds for pair in split["test"]) == sorted(pairs)
    assert all(sum(map(len, split.values())) == 62 for split in folds)
    out = reviews / "out"
    out.mkdir()
    with pytest.raises(ValueError, match=r"Expected rt-polarity\.pos in"):
        sentence_polarity.sentences(out)
    rated = "1_1\t-0.9\tit broke .\n1_2\t0.0\tit is blue .\n1_3\t2.4\tgood value\n"
    (out / sentence_polarity.RATED).write_text(rated)
    assert sorted(sentence_polarity.sentences(out)) == [
        ("good value", "positive"),
        ("it broke .", "negative"),
    ]


@pytest.mark.slow
def test_sentence_polarity(reviews):
    pytest.importorskip("sklearn", reason="no scikit-learn here, which the extra peers brings")
    sizes = {**labeled_texts.TINY, "batch_tokens": 112, "epochs": 1}
    plans = {"mean": {"encoder": "embeddings", "pooling": "mean"}}
    out = reviews / "out"
    table = sentence_polarity.compare(reviews, out, 2, sizes, plans)
    rows = cells(table)
    assert [row[0] for row in rows] == [sentence_polarity.LINEAR, "mean"]
    assert all(row[2] == "2" and "±" in row[3] for row in rows)
    assert (out / "table.md").read_text() == f"{table}\n"
    assert sentence_polarity.compare(reviews, out, 2, sizes, plans) == table


@pytest.mark.slow
def test_babi_tasks(tmp_path):
    data, out = toy_stories.write_tasks(tmp_path / "tasks"), tmp_path / "out"
    values = {**toy_stories.TINY, "epochs": 1}
    table = babi_tasks.compare(data, out, 2, values)
    rows = cells(table)
    assert [row[0] for row in rows] == ["1", "8", "mean", "failed"]
    assert [row[3] for row in rows] == ["0.0", "9.3", "12.4", "11"] and "±" in rows[2][2]
    assert (out / "table.md").read_text() == f"{table}\n"
    assert babi_tasks.compare(data, out, 2, values) == table


@pytest.mark.slow
def test_facts_to_sentences(tmp_path, monkeypatch):
    data, out = toy_facts.write_facts(tmp_path / "facts"), tmp_path / "out"
    values = {**toy_facts.TINY, "epochs": 1, "batch_tokens": 400, "monitor": "val_loss"}
    for system in facts_to_sentences.SYSTEMS.values():
        assert set(system) <= set(facts_to_sentences.RECIPE.replaced(system).values())
    monkeypatch.setattr(facts_to_sentences, "SYSTEMS", {"without copying": {"copies": False}})
    table = facts_to_sentences.compare(data, out, values)
    rows = cells(table)
    assert [row[0] for row in rows] == ["without copying", facts_to_sentences.LINEAR]
    assert all(row[3].endswith("%") for row in rows)
    assert (out / "table.md").read_text() == f"{table}\n"
    assert facts_to_sentences.compare(data, out, values) == table
    facts = [("Ada_Low", "birthPlace", "Arden"), ("Ada_Low", "field", '"sums"')]
    expected = "Ada Low | birth place | Arden ; Ada Low | field | sums"
    assert facts_to_sentences.linearized(facts) == expected


@pytest.mark.slow
def test_unseen_facts(tmp_path):
    data, out = toy_facts.write_facts(tmp_path / "facts"), tmp_path / "out"
    for split in ("train", "dev"):
        lines = unseen_facts.records(data, split)
        for place, line in enumerate(lines):
            line["category"] = "Town" if place % 3 == 0 else "Person"
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (data / f"{split}.jsonl").write_text(text, encoding="utf-8")
    values = {**toy_facts.TINY, "epochs": 1, "batch_tokens": 400, "monitor": "val_loss"}
    table = unseen_facts.compare(data, out, values, ("Town",), {"without": {"longest_run": 0}})
    assert [row[:3] for row in cells(table)] == [
        ["without", "seen", "4"],
        ["without", "unseen", "3"],
    ]
    kept = unseen_facts.records(out / "facts" / "seen", "train")
    assert len(kept) == 40 and {line["category"] for line in kept} == {"Person"}
    with pytest.raises(ValueError, match=r"Expected test\.jsonl or test\.jsonl\.gz in .*neither"):
        unseen_facts.records(tmp_path, "test")


@pytest.mark.slow
def test_progressive_memory(tmp_path):
    captions = tmp_path / "captions"
    captions.mkdir()
    for seed, name in enumerate(("train", "val", "test_2016_flickr")):
        lines = [text for text, _ in labeled_texts.examples(40, seed)]
        (captions / f"{name}.en").write_text("\n".join(lines), encoding="utf-8")
    for label, name in sentence_polarity.FILES.items():
        kind = {"positive": "good", "negative": "bad"}[label]
        texts = [f"such {text}" for text, known in labeled_texts.examples(60) if known == kind]
        (tmp_path / name).write_text("\n".join(texts), encoding="latin-1")
    sizes = {"embedding_dim": 3, "hidden_dim": 5, "memory_dim": 2, "slots": (3,)}
    values = {**sizes, "lengths": (7, 13), "batch_tokens": 112, "epochs": 1}
    plans = {"more": {"slots": (3, 2)}}
    arguments = (captions, tmp_path, tmp_path / "out", values, plans)
    two = progressive_memory.compare(*arguments, seeds=2)
    errors = [row[place].split(" ± ")[1] for row in cells(two) for place in (2, 5)]
    assert any(float(error) > 0 for error in errors)
    table = progressive_memory.compare(*arguments, seeds=1)
    rows = cells(table)
    first, more, state = rows
    assert [row[0] for row in rows[:2]] == ["captions alone", "then reviews: more"]
    assert re.fullmatch(r"then reviews: a state of \d units", state[0])
    assert all(float(row[2]) > 1 and float(row[5]) > 1 for row in rows)
    assert float(first[6]) > 0 and float(more[6]) == 0
    assert first[4] == state[7] == "" and 0 < float(more[4]) < 100 and 0 < float(more[7]) < 100
    parameters = [int(row[1].replace(",", "")) for row in rows]
    assert parameters[0] < parameters[1] <= parameters[2]
    assert progressive_memory.compare(*arguments, seeds=1) == table


@pytest.mark.parametrize("slots", [(3, 2), (3, 211)])
def test_a_larger_state_is_as_large_as_a_memory(slots):
    def parameters(units, slots):
        model = ProgressiveLanguageModel(23, slots, 3, units, 2)
        model.build()
        return model, model.count_params()

    model, wanted = parameters(5, slots)
    units = progressive_memory.units_instead(model)
    assert parameters(units - 1, (3,))[1] < wanted <= parameters(units, (3,))[1]


@pytest.mark.parametrize("size", [(224, 224), (40, 23)])
def test_picture_pipeline(size, tmp_path):
    rows = picture_pipeline.compare(write_caption_folder(tmp_path, 7, size), 5, 2, 1)
    name, _ = picture_pipeline.peer()
    resized = [] if size == (224, 224) else [picture_pipeline.RESIZED.format(name)]
    expected = [picture_pipeline.OURS, name, *resized, picture_pipeline.TENSORFLOW]
    assert [row[1] for row in rows] == expected
    assert {row[0] for row in rows} == {"5, {}×{}".format(*size)}


@pytest.mark.slow
def test_layer_complexity(tmp_path):
    costs = {
        (length, 4): {kind: layer_complexity.measure(kind, length, 4, 1) for kind in KINDS}
        for length in (7, 13)
    }
    rows = cells(layer_complexity.costs_table(costs))
    assert [row[:2] for row in rows] == [["7", "4"], ["13", "4"]]
    assert len(rows[0]) == 2 + 2 * len(KINDS)
    assert [row[0] for row in cells(layer_complexity.waits_table((7, 13)))] == ["7", "13"]
    for memory in (False, True):
        layer_complexity.draw(costs, tmp_path / f"{memory}.png", memory)
        assert (tmp_path / f"{memory}.png").read_bytes().startswith(b"\x89PNG")


def test_masked_attention_is_the_restricted_one():
    inputs = np.random.default_rng(1).normal(size=(1, 150, 3)).astype("float32")
    masked, restricted = (
        np.array(layer_complexity.layer(kind, 3)(inputs)).reshape(150, 3)
        for kind in (layer_complexity.MASKED, layer_complexity.RESTRICTED)
    )
    np.testing.assert_allclose(masked, restricted, atol=1e-5)


@pytest.mark.slow
def test_training_rate():
    python = sys.executable if importlib.util.find_spec("torch") else None
    training = training_rate.made_up(tiny(), 5)
    rows = cells(training_rate.compare(training, 1, python, size=16))
    ours = [training_rate.FIT, training_rate.STEP, training_rate.PRODUCTS]
    expected = [*ours, *([training_rate.TORCH] if python else []), training_rate.MATMUL]
    assert [row[0] for row in rows] == expected
    assert all(len(row) == len(training_rate.HEAD) for row in rows)
    if not python:
        with (
            pytest.raises(ValueError, match="Expected a Python with torch"),
            training.peer(sys.executable),
        ):
            pass


def test_products_are_counted_as_often_as_they_are_done():
    """A convolution of stride 2 to 7×9 points, and 4 rounds of a loop, forward and backward."""
    pictures, kernel = tf.ones((2, 13, 17, 3)), tf.ones((3, 3, 3, 5))
    left, right = tf.ones((11, 5)), tf.ones((2, 5, 7))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            tape.watch([pictures, kernel, left, right])
            total = tf.reduce_sum(tf.nn.conv2d(pictures, kernel, 2, "SAME"))
            total += tf.reduce_sum(tf.nn.depthwise_conv2d(pictures, kernel, [1] * 4, "SAME"))
            for _ in tf.range(4):
                total += tf.reduce_sum(tf.matmul(tf.matmul(left, right), right, transpose_b=True))
        return tape.gradient(total, [pictures, kernel, left, right])

    products = counted(step)
    convolution, depthwise = 2 * 7 * 9 * 5 * 3 * 3 * 3, 2 * 13 * 17 * 15 * 3 * 3
    loop = 4 * 2 * (2 * 11 * 5 * 7)
    assert operations(products) == 2 * 3 * (convolution + depthwise + loop)
    for product in products:
        product.run()
    assert not tf.config.functions_run_eagerly()
    assert square(7).operations == 2 * 7**3


@pytest.mark.parametrize("name", recipe_names())
def test_recipes_read_their_made_up_data(tmp_path, name):
    records = read_records(load_recipe(name).source, recipe_data.written(name, tmp_path))
    assert len(records.splits["train"]) and len(records.splits["dev"]) and not records.skipped


@pytest.mark.slow
def test_training_steps():
    [row] = cells(training_steps.compare(["ntm_copy"]))
    assert len(row) == len(training_steps.HEAD) and row[0] == "ntm_copy" and "nan" not in row


@pytest.mark.slow
def test_serving_rate(tmp_path):
    service = serving_rate.untrained(tiny())
    pictures = [path.read_bytes() for path in write_pictures(tmp_path, 3, (23, 40))]
    rows = cells(serving_rate.compare(service, pictures, (1, 2), 2, 1))
    assert [row[:2] for row in rows] == [
        ["greedy", "1"],
        ["beam 2", "1"],
        ["greedy", "2"],
        ["beam 2", "2"],
    ]
    assert {row[4] for row in rows} == {"13.0"}


TASK = translation_task.Task(
    vocabulary=67, layers=1, units=6, hidden=11, heads=2, batch=3, source=5, target=7, pairs=2
)


def test_weights_of_the_translation_task_are_the_models():
    config = TransformerConfig(67, None, 1, 6, 11, 2, 3, 3)
    model = transformer.Transformer(config)
    model.build()
    shapes = {weight.path.split("/", 1)[1]: tuple(weight.shape) for weight in model.weights}
    weights = TASK.weights()
    assert set(weights) == set(shapes)
    assert all(same_numbers(shape, weights[name].shape) for name, shape in shapes.items())
    assert not weights["decoder/embedding/table"][:4].any()
    expected = model.encoder.positions(np.zeros((1, 13, 6), "float32"))[0]
    np.testing.assert_allclose(translation_task.sinusoids(13, 6), expected, atol=1e-6)


@pytest.mark.slow
def test_costs_by_records(tmp_path):
    rows = cells(costs_by_records.compare(tmp_path, (600,), (1, 2)))
    assert [row[:2] for row in rows] == [["600", "1"], ["600", "2"]]
    with pytest.raises(subprocess.CalledProcessError):
        costs_by_records.run(tmp_path, 2, "train", "nothing")


@pytest.mark.slow
def test_costs():
    system = costs.System(transformer_speed.measured, lambda cores: TASK, (TRAIN, GREEDY), "tokens")
    options = Options(1)
    rows = [*costs.rows_of("tiny", system, options)]
    assert {(row[0], row[1]) for row in rows} == {("tiny", TRAIN), ("tiny", GREEDY)}
    rows += costs.captioner_rows(options, training_rate.made_up(tiny(), 5))
    assert all(len(row) == len(costs.HEAD) and row[3] != "0" for row in rows)
    assert not any(row[4].startswith("keras-attn") for row in rows)


def test_variants_that_costs_leaves_out_have_these_names():
    contenders = [
        *transformer_speed.contenders(Path(), ""),
        *seq2seq_speed.contenders(),
        *vision_speed.contenders(),
        *sampling_speed.contenders(sampling_speed.Task()),
        *memory_speed.contenders(memory_speed.Task()),
    ]
    names = {contender.name for contender in contenders}
    assert set(costs.LEFT_OUT) < names
    assert {name for name in names if name.startswith(costs.OURS)} - set(costs.LEFT_OUT) == {
        costs.OURS
    }


@pytest.mark.slow
def test_transformer_speed(tmp_path):
    options = Options(2, left_out=("keras-attn, bfloat16",), processor_time=True)
    markdown = transformer_speed.compare(TASK, options, tmp_path)
    rows = cells(markdown)
    ours, loaded, compiled = rows[:3]
    names = transformer_speed.OURS, transformer_speed.LOADED, "keras-attn, XLA"
    assert (ours[0], loaded[0], compiled[0]) == names and all(compiled[1:4])
    assert all(ours[1:]) and all(loaded[1:4]) and loaded[4] == "" and float(loaded[5]) > 100
    lines = markdown.split("\n\n")[1].splitlines()[:2]
    same = "says what keras-attn does: greedy 100%, beam 4 100%"
    assert lines == [f"{name} {same}" for name in names[1:]]


@pytest.mark.slow
def test_length_speed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # Where the picture goes.
    left_out = ("keras-attn, XLA", "keras-attn, bfloat16", "transformers on torch, bfloat16")
    options = Options(1, left_out=left_out, works=["greedy"])
    task = length_speed.LengthTask(**asdict(TASK), shortest=5, longest=10)
    head, _, *rows = length_speed.compare(task, options, tmp_path).splitlines()[2:]
    assert head.split(" | ")[1:] == ["5", "10 |"] and rows[0].startswith("| keras-attn |")
    assert all(float(cell) > 0 for cell in rows[0].split(" | ")[1:-1])


@pytest.mark.slow
def test_seq2seq_speed(tmp_path):
    rows = cells(seq2seq_speed.compare(TASK, Options(1), tmp_path))
    names = [contender.name for contender in seq2seq_speed.contenders()]
    assert [row[0] for row in rows if row[0] != seq2seq_speed.TORCH] == [
        name for name in names if name != seq2seq_speed.TORCH
    ]
    plain = (seq2seq_speed.PLAIN, seq2seq_speed.OUTSIDE)
    assert all(all(row[1:]) for row in rows if row[0] not in plain)
    assert all(row[1] and not any(row[2:]) for row in rows if row[0] in plain)


@pytest.mark.slow
def test_translation_models(tmp_path):
    pytest.importorskip("sacremoses")
    data = tmp_path / "data"
    data.mkdir()
    words = [f"w{n}" for n in range(9)]
    for split, count in (("train", 60), ("val", 7), ("trial", 11)):
        random = np.random.default_rng(count)
        lines = [" ".join(random.choice(words, 3 + row % 19)) for row in range(count)]
        for suffix, turned in (("en", 1), ("de", -1)):
            texts = "\n".join(" ".join(line.split()[::turned]) for line in lines)
            (data / f"{split}.{suffix}").write_text(f"{texts}\n")
    tiny_rnn = {"hidden_dim": 7, "embedding_dim": 5}
    plans = {
        "hard": (translation_models.RNN, {**tiny_rnn, "hard": True}),
        "none": (translation_models.RNN, {**tiny_rnn, "scope": "none"}),
    }
    sizes = {"vocabulary_size": 290, "batch_tokens": 200, "lengths": (12, 48), "average": 1}
    given = data, tmp_path / "out", "trial", 0.01
    part = translation_models.compare(*given, only=("none",), plans=plans, sizes=sizes)
    assert len(cells(part.split("\n\n")[0])) == 1
    whole = translation_models.compare(*given, plans=plans, sizes=sizes)
    scores, lengths = (cells(table) for table in whole.split("\n\n"))
    assert [row[0] for row in scores] == [row[0] for row in lengths] == ["hard", "none"]
    assert all(all(row) and len(row) == 11 for row in scores) and len(lengths[0]) == 3
    assert (tmp_path / "out" / "lengths.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_vision_speed(tmp_path):
    sizes = {"layers": 1, "units": 6, "hidden": 7, "heads": 2, "pictures": 2, "vocabulary": 13}
    tiny_sizes = {"tiny_layers": 1, "tiny_units": 6, "tiny_heads": 2, "decoder_layers": 1}
    task = vision_speed.Task(size=16, patch=8, length=3, cores=1, **sizes, **tiny_sizes)
    options = Options(1, left_out=("keras-attn, bfloat16",))
    rows = cells(vision_speed.compare(task, options, tmp_path))
    assert rows[0][0] == vision_speed.OURS and all(float(cell) > 0 for cell in rows[0][1:])
    assert len(rows[0]) == 7


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["blip", "gpt2"])
def test_hub_captioner_speed(kind, tmp_path):
    pytest.importorskip("transformers")
    sizes = {"layers": 1, "units": 6, "hidden": 7, "heads": 2, "vocabulary": 300, "patch": 8}
    counts = {"length": 3, "many": 5, "few": 2, "cores": 1}
    task = hub_captioner_speed.Task(kind, 16, **sizes, **counts)
    said = hub_captioner_speed.compare(task, Options(1), tmp_path)
    rows = cells(said)
    assert rows[0][0] == hub_captioner_speed.OURS and len(rows) == 2
    assert all(float(cell) > 0 for cell in rows[0][1:]) and said.endswith("equal tokens: True")


def test_made_up_captions_fill_a_vocabulary():

    assert Tokenizer.learn(captions(500), 3000).vocabulary_size == 3000


def test_subject_is_set_apart(tmp_path):
    texts = ["a Dog runs", "puppies", "a hot-dog stand", "hotdogs", "two cats", "cats", "a cat"] * 5
    write_pictures(tmp_path / "images", len(texts), (8, 8))
    lines = [f"{index:05}.jpg,{text}" for index, text in enumerate(texts)]
    (tmp_path / "captions.csv").write_text("\n".join(["image,caption", *lines]) + "\n")
    splits = {"train": range(21), "dev": range(21, 35)}
    for split, rows in splits.items():
        (tmp_path / f"{split}.txt").write_text("".join(f"{row:05}.jpg\n" for row in rows))
    others, own = set_apart(tmp_path, tmp_path / "out", "dogs?|puppies", 7)
    chosen = {
        split: [int(name[:5]) for name in (own / f"{split}.txt").read_text().split()]
        for split in ("train", "dev", "test")
    }
    assert {split: len(rows) for split, rows in chosen.items()} == {"train": 6, "dev": 1, "test": 6}
    assert all(row % 7 in (0, 1, 2) for rows in chosen.values() for row in rows)
    assert not set(chosen["train"]) & set(chosen["dev"])
    assert set(chosen["test"]) == {row for row in splits["dev"] if row % 7 in (0, 1, 2)}
    kept = [int(name[:5]) for name in (others / "train.txt").read_text().split()]
    assert kept == [row for row in splits["train"] if row % 7 not in (0, 1, 2)]


@pytest.mark.slow
def test_sampling_speed(tmp_path):
    task = sampling_speed.Task(1, [(2, 5, 7, 3), (1, 3, 2, 11)])
    rows = cells(sampling_speed.compare(task, Options(1), tmp_path))
    names = [row[0] for row in rows]
    torch = [name for name in ("torch", "kornia") if importlib.util.find_spec(name)]
    assert names[:2] == ["keras-attn", "keras-attn, no XLA"] and set(names[2:]) <= set(torch)
    assert all(len(row) == 1 + 4 + 2 for row in rows)
    assert all(float(cell) > 0 for cell in rows[0][1:])


@pytest.mark.slow
def test_distorted_digits(tmp_path):
    """Each network and seed once; a second run takes them as they are."""
    random = np.random.default_rng(37)
    arrays = {}
    for split, count in (("train", 29), ("test", 7)):
        arrays[f"x_{split}"] = random.integers(0, 256, (count, 28, 28), "uint8")
        arrays[f"y_{split}"] = np.arange(count) % 10
    np.savez(tmp_path / "noise.npz", **arrays)
    plan = {
        "transforms": ("affine",),
        "epochs": 1,
        "batch_size": 13,
        "dev_share": 0.3,
        "filters": 5,
    }
    folders = (tmp_path / "noise.npz", tmp_path / "out")
    markdown = distorted_digits.compare(*folders, {"elastic": plan}, (0, 3))
    rows = cells(markdown)
    assert [row[:2] for row in rows] == [["elastic", "CNN"], ["elastic", "ST-CNN, affine"]]
    alone, behind = (int(row[2].replace(",", "")) for row in rows)
    assert 0.7 < alone / behind < 1.3
    for row in rows:
        mean, _, spread = row[4].partition(" ± ")
        errors = [float(error) for error in row[5].split(", ")]
        assert row[3] == "1"
        assert float(mean) == pytest.approx(np.mean(errors), abs=0.01) and len(errors) == 2
        assert float(spread) == pytest.approx(abs(errors[0] - errors[1]) / 2, abs=0.01)
    times = [path.stat().st_mtime_ns for path in sorted((tmp_path / "out").rglob("model.keras"))]
    assert len(times) == 4
    assert distorted_digits.compare(*folders, {"elastic": plan}, (0, 3)) == markdown
    again = [path.stat().st_mtime_ns for path in sorted((tmp_path / "out").rglob("model.keras"))]
    assert again == times
    with pytest.raises(ValueError, match=r"a run of the choices asked for.*'epochs': 1"):
        distorted_digits.compare(*folders, {"elastic": {**plan, "epochs": 2}}, (0, 3))


@pytest.mark.slow
def test_accelerator(tmp_path):
    command = [sys.executable, "-m", "benchmarks.accelerator", "--toy", "--budget", "0.01"]
    command += ["--minutes", "30", "--out", str(tmp_path / "out.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = json.loads((tmp_path / "out.json").read_text())
    packages = {name: side.packages for name, side in accelerator.SIDES.items()}
    sides = {
        name for name, needed in packages.items() if all(map(importlib.util.find_spec, needed))
    }
    assert {row["side"] for row in rows} == sides
    assert not [row for row in rows if "error" in row]
    assert len(rows) == len(sides) * len(accelerator.TOY.works()) * len(accelerator.PRECISIONS)
    assert all(row["rate"] > 0 and row["share"] > 0 for row in rows)
    assert len(cells(done.stdout)) == len(rows) / len(sides)


def test_an_accelerator_without_time_leaves_works_out():
    rows = accelerator.measure(accelerator.TOY, ["transformers, PyTorch"], 0.001, 0.01)
    assert {row.get("error") for row in rows} <= {"no time left"}
    assert all(line.split("|")[3].strip() == "–" for line in costs_lines(rows))


def costs_lines(rows):
    """Lines of the table of rows below its head."""
    return accelerator.costs_table(rows).splitlines()[2:]


def test_einsum_is_counted_with_its_gradients():
    left, right = tf.ones((2, 3, 5)), tf.ones((3, 7))

    def slopes():
        with tf.GradientTape() as tape:
            tape.watch([left, right])
            total = tf.reduce_sum(tf.einsum("bnc,nd->bcd", left, right))
        tape.gradient(total, [left, right])

    assert operations(counted(slopes)) == 3 * 2 * 2 * 3 * 5 * 7


def test_operations_of_an_accelerator():
    """A layer's products, counted by hand, and a step is three times what is read and written."""
    widths = accelerator.Widths(1, 2, 3, 1)
    assert widths.layer(5) == 5 * 2 * (4 * 2 * 2 + 2 * 2 * 3)
    assert widths.layer(5, memory=7, keys=11) - widths.layer(5) == 5 * (2 * 2 * 4 + 4 * 2 * 18)
    works = accelerator.Task().works()
    forward = works["training, ViT-B/16"].operations / 3 / accelerator.Task().pictures
    assert round(forward / 2 / 1e9, 1) == 17.6  # As published.

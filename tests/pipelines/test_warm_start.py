"""Trainings that begin with the weights of another, and an encoder that trains from a step on."""

import json
import re
import shutil

import keras
import numpy as np
import pytest

from keras_attn.contracts import METADATA_FILE
from keras_attn.saved import loading
from keras_attn.text.tokenizer import Tokenizer
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.demo.scenes import write_scenes
from keras_attn_pipelines.recipes.scenes import RECIPE
from keras_attn_pipelines.runs import combined, fitting
from keras_attn_pipelines.runs import train as training
from keras_attn_pipelines.runs.export import export
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.warm_start import WarmStart
from tests.pipelines.encoded import encoded
from tests.serving.rounding import as_stored

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

SIZES = {
    "hidden_dim": 7,
    "embedding_dim": 3,
    "attention_dim": 5,
    "vocabulary_size": 300,
    "image_size": 29,
}
CHOICES = {"batch_size": 5, "lengths": (13, 60), "epochs": 1, "monitor": "val_loss"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "scenes"
    return write_scenes(folder, train=11, dev=3, test=2, novel=1)


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    recipe = RECIPE.replaced({**SIZES, **CHOICES})
    out = tmp_path_factory.mktemp("runs") / "run"
    return training.train(recipe, data, out, name="scenes", verbose=0)


@pytest.fixture(scope="module")
def saved(run, tmp_path_factory):
    return export(
        run, tmp_path_factory.mktemp("models") / "tiny", precision="bfloat16", terms="for\nresearch"
    )


def weights(model):
    return [keras.ops.convert_to_numpy(weight) for weight in model.weights]


def test_a_saved_model_gives_the_runs_weights_and_tokenizer(run, saved):
    for path in (run.folder, saved, saved.parent):
        source = WarmStart.read(path)
        assert source.model.decoder.compute_dtype == "float32"
        for weight, other in zip(weights(source.model), weights(run.model()), strict=True):
            np.testing.assert_array_equal(weight, other)
        text = ["a large red circle"]
        expected = run.vocabularies()["tokenizer"].encode(text).to_list()
        assert source.vocabularies["tokenizer"].encode(text).to_list() == expected
        values = source.adapted(RECIPE, CHOICES).values()
        assert {key: values[key] for key in SIZES} == SIZES


@pytest.mark.parametrize("storage", [pytest.param("float16", marks=pytest.mark.slow), "int8"])
def test_weights_stored_in_less_space(run, storage, tmp_path):
    version = export(run, tmp_path / "small", storage=storage)
    assert "The metrics are those of float32" in (version / "README.md").read_text()
    source = WarmStart.read(version)
    for weight, other in zip(weights(source.model), weights(run.model()), strict=True):
        np.testing.assert_array_equal(weight, as_stored(other, storage))


def test_training_goes_on_from_the_weights(run, saved, data, tmp_path, capsys):
    command = ["train", "scenes", "--from", str(saved.parent), "--data", str(data), "--out"]
    command += [str(tmp_path / "warm"), "--cache", str(tmp_path / "cache"), "--epochs", "1"]
    command += ["--batch-size", "5", "--lengths", "13", "60", "--learning-rate", "1e-12"]
    command += ["--unfreeze-step", "2", "--slow-rate", "0.5", "--monitor", "val_loss"]
    assert main(command) == 0
    said, warm = capsys.readouterr().out, Run(tmp_path / "warm")
    assert "training the encoder too, from step 3 on" in said
    before = warm.description["start"]["val_loss"]
    assert re.search(rf", val_loss {before:.3g} → {before:.3g} on 3 pictures\n", said)
    assert warm.experiment().model.hidden_dim == 7
    assert warm.description["from"] == str(saved.resolve())
    assert warm.description["origin"]["terms"] == "for research"
    assert "Terms of use: for research" in warm.description["origin"]["License"]
    for weight, other in zip(weights(warm.model()), weights(run.model()), strict=True):
        np.testing.assert_allclose(weight, other, atol=1e-6)


def moved(run, folder, change):
    """A copy of a run whose weights are larger by a number; its description has another digest."""
    shutil.copytree(run.folder, folder)
    model = run.model()
    model.set_weights([weight + change for weight in weights(model)])
    model.save(folder / "model.keras")
    return folder


def unverified(folder):
    """A run whose description has no digest."""
    description = json.loads((folder / "recipe.json").read_text())
    del description["kept"]
    (folder / "recipe.json").write_text(json.dumps(description))
    return Run(folder)


@pytest.mark.slow
def test_captioners_answer_together(run, data, tmp_path, capsys):
    other = unverified(moved(run, tmp_path / "other", 0.3))
    together = combined.ensemble([run, other], tmp_path / "ensemble")
    pictures = [path.read_bytes() for path in sorted(data.glob("**/*.png"))[:2]]
    answers = [one.service().explain(np.array(pictures)) for one in (run, other, together)]
    assert len({np.asarray(answer["weights"]).shape[3:] for answer in answers}) == 1
    captions = np.array([b"a large red circle", b"a circle"])
    scores = [
        np.exp(one.service().score(np.array(pictures), captions)["token_scores"])
        for one in (run, other, together)
    ]
    np.testing.assert_allclose(scores[2], np.mean(scores[:2], axis=0), atol=1e-5)
    rounded = together.service(precision="bfloat16").score(np.array(pictures), captions)
    np.testing.assert_allclose(np.exp(rounded["token_scores"]), scores[2], atol=0.05)
    folder = tmp_path / "model"
    assert main(["export", str(together.folder), str(folder), "--no-evaluate"]) == 0
    assert main(["evaluate", str(folder), "--data", str(data)]) == 0
    capsys.readouterr()
    command = ["export", str(together.folder), str(folder), "--data", str(data), "--familiarity"]
    assert main(command) == 2
    assert "Expected a single captioner of pictures for a familiarity" in capsys.readouterr().err


def test_the_mean_of_two_runs_is_a_run(run, data, tmp_path, capsys):
    other = moved(run, tmp_path / "other", 2.0)
    out = tmp_path / "mean"
    command = ["average", str(run.folder), str(other), "--out", str(out)]
    assert main(command) == 2
    assert "model.keras. Received: a damaged or different file" in capsys.readouterr().err
    unverified(other)
    assert main(command) == 0
    for each_weight, mean in zip(weights(run.model()), weights(Run(out).model()), strict=True):
        np.testing.assert_allclose(mean, each_weight + 1, atol=1e-5)
    assert Run(out).description["mean_of"] == [str(run.folder.resolve()), str(other.resolve())]
    assert main(["evaluate", str(out), "--data", str(data)]) == 0
    assert (
        main(["export", str(out), str(tmp_path / "model"), "--terms", "no sale", "--no-evaluate"])
        == 0
    )
    assert loading.load(tmp_path / "model").terms == "no sale"
    assert capsys.readouterr().err.endswith("Terms of use of model: no sale\n")
    card = (tmp_path / "model" / "README.md").read_text()
    assert "strategy one; mean of the weights of run, other" in card
    capsys.readouterr()
    sizes = shutil.copytree(other, tmp_path / "sizes")
    description = json.loads((sizes / "recipe.json").read_text())
    description["parts"]["model"]["hidden_dim"] = 11
    (sizes / "recipe.json").write_text(json.dumps(description))
    words = shutil.copytree(other, tmp_path / "words")
    vocabularies = {"tokenizer": Tokenizer.learn(["other words"], 270)}
    description = Run(words).description
    Run(words).describe({**description, "digests": Run(words).save_vocabularies(vocabularies)})
    empty = shutil.copytree(other, tmp_path / "empty")
    (empty / "model.keras").unlink()
    for runs, place, message in (
        ([run.folder], "new", "Expected two or more runs. Received: 1"),
        ([run.folder, other], "mean", f"Expected a new run directory. Received: {out}"),
        ([sizes, other], "new", f"{sizes} and {other}, which differ in hidden_dim"),
        ([words, other], "new", f"{words} and {other}, which differ in tokenizer"),
        ([empty, other], "new", "Expected a trained model at"),
        ([tmp_path, other], "new", "Expected a run directory"),
    ):
        assert main(["average", *map(str, runs), "--out", str(tmp_path / place)]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


NO_PARTS = "Expected the parts source, task, model, optimizer, fit in"


def changed(part, **values):
    """A function that changes fields of a part in metadata."""

    def change(metadata):
        metadata["parts"][part].update(values)
        return metadata

    return change


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "Expected JSON in "),
        (b"\xff{}", "Expected JSON in "),
        (b"[" * 9999, "Expected JSON in "),
        (b"null", "Expected a JSON object in "),
        (b'["parts", "model"]', "Expected a JSON object in "),
        ({"parts": None}, "Expected parts of type dict in the metadata of"),
        ({"parts": {}}, NO_PARTS),
        ({"parts": {"task": {}}}, NO_PARTS),
        ({"model": None}, "Expected model of type dict in the metadata of"),
        ({"recipe": ["a"]}, "Expected recipe of type str in the metadata of"),
        ({"beam_width": "four"}, "Expected beam_width of type int in the metadata of"),
        (changed("task", type="sonnets.Sonnets"), "Expected a known part in"),
        (changed("task", type="subprocess.Popen"), "Expected a known part in"),
        (changed("task", type="experiment.Experiment.x"), "Expected a known part in"),
        (changed("task", type=None), "Expected a known part in"),
        (changed("task", type="recipe.Mine"), "Expected the recipe file that defines Mine, a part"),
        (changed("task", zoom=3), "Expected fields of captioning.Captioning in"),
        (changed("model", type="seq2seq.Transformer"), "Expected fields of seq2seq.Transformer in"),
        (changed("fit", epochs="many"), "Expected epochs of type int. Received: epochs='many', in"),
        (changed("task", lengths=["a"]), "Expected lengths of type tuple[int, ...]. Received"),
        (
            changed("fit", patience=True),
            "Expected patience of type int. Received: patience=True",
        ),
        (changed("source", image_folder=3), "Expected image_folder of type str. Received: image_"),
    ],
)
def test_damaged_metadata(content, message, saved, data, tmp_path, capsys):
    folder = shutil.copytree(saved, tmp_path / "saved")
    path = folder / METADATA_FILE
    if not isinstance(content, bytes):
        metadata = json.loads(path.read_bytes())
        metadata = content(metadata) if callable(content) else {**metadata, **content}
        content = json.dumps(metadata).encode()
    path.write_bytes(content)
    assert main(["evaluate", str(folder), "--data", str(data)]) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert message in told and told.startswith("keras-attn: ")


def test_a_model_of_no_kind_is_refused(saved, data, tmp_path, capsys):
    folder = shutil.copytree(saved, tmp_path / "saved")
    path = folder / METADATA_FILE
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "model": {}}))
    command = ["train", "scenes", "--from", str(folder), "--data", str(data)]
    assert main([*command, "--out", str(tmp_path / "out")]) == 2
    assert "Expected the config of a model in" in capsys.readouterr().err


def test_what_export_refuses_is_refused_before_an_evaluation(run, data, tmp_path, capsys):
    command = ["export", str(run.folder), str(tmp_path / "new"), "--data", str(data)]
    headings = tmp_path / "limits.md"
    headings.write_text("## Metrics\nsplendid")
    blank = tmp_path / "blank.md"
    blank.write_text(" \n")
    for flags, message in (
        (["--storage", "float64"], "Expected a storage of ('float32', 'float16', 'int8')"),
        (["--storage", "float16", "--precision", "bfloat16"], "Expected storage='float32' with"),
        (["--products", "int4"], "one of float32, int8. Received: products='int4'"),
        (["--jit", "--products", "int8"], "Expected products='float32' with jit=True"),
        (["--n-best", "99"], "Expected 1 <= n_best <= width"),
        (["--limits", str(headings)], "Expected headings of ### or lower in"),
        (["--limits", str(blank)], "Expected text in"),
        (["--limits", str(tmp_path)], "Is a directory"),
    ):
        assert main([*command, *flags]) == 2
        said = capsys.readouterr()
        assert message in said.err and "answers for" not in said.err
        assert not (tmp_path / "new").exists()
    assert main([*command[:3], "--storage", "float64"]) == 2
    assert not (tmp_path / "new").exists()


class Encoders(keras.callbacks.Callback):
    """Keeps a copy of the encoder's weights after each step."""

    def __init__(self):
        super().__init__()
        self.found = []

    def on_train_batch_end(self, batch, logs=None):
        self.found.append(weights(self.model.encoder))


@pytest.mark.slow
def test_the_encoder_rests_until_its_step(data, tmp_path, monkeypatch):
    seen = Encoders()
    monkeypatch.setattr(fitting, "FiniteLoss", lambda: seen)
    values = {**SIZES, **CHOICES, "epochs": 2, "unfreeze_step": 4, "learning_rate": 0.01}
    recipe = RECIPE.replaced(values)
    training.train(recipe, data, tmp_path / "run", "scenes", cache=tmp_path, verbose=0)
    assert len(seen.found) == 6
    moved = [
        max(np.abs(value - other).max() for value, other in zip(before, after))
        for before, after in zip(seen.found, seen.found[1:])
    ]
    assert moved[:3] == [0, 0, 0] and min(moved[3:]) > 1e-5
    lines = (tmp_path / "run" / "history.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["epoch", "1", "2"]


@pytest.mark.slow
def test_the_mean_is_scored_on_pictures_where_the_encoder_has_trained(
    data, tmp_path, monkeypatch, capsys
):
    losses = []

    describe_best = fitting.Fitting.describe_best

    def score(self):
        vocabularies = self.prepared.vocabularies
        pictures = encoded(self.experiment, data, vocabularies, cache=tmp_path)[2].unfrozen()
        losses.append(self.stage.evaluate(pictures.dev, return_dict=True, verbose=0)["loss"])
        return describe_best(self)

    monkeypatch.setattr(fitting.Fitting, "describe_best", score)
    values = {**SIZES, **CHOICES, "epochs": 2, "average": 2, "unfreeze_step": 1, "flip": True}
    recipe = RECIPE.replaced({**values, "learning_rate": 0.05})
    training.train(recipe, data, tmp_path / "run", "scenes", cache=tmp_path, verbose=0)
    said = capsys.readouterr().out
    assert f"mean of the last 2 epochs: val_loss {losses[0]:.4f}; " in said
    assert "until the encoder trains, cached features of unaugmented pictures are used" in said


def test_what_does_not_fit(run, saved, data, tmp_path, capsys):
    out = ["--data", str(data), "--out", str(tmp_path / "out")]
    for arguments, message in (
        (["scenes", "--from", str(tmp_path)], "Expected a SavedModel or numbered versions"),
        (
            ["scenes", "--from", str(run.folder), "--hidden-dim", "11"],
            f"Expected hidden_dim=7, as in {run.folder}. Received: hidden_dim=11",
        ),
        (
            ["scenes", "--unfreeze-step", "99", "--from", str(run.folder), "--epochs", "1"],
            "Expected unfreeze_step < 2, the steps of the whole training",
        ),
        (["scenes", "--no-fine-tune", "--unfreeze-step", "3"], "Expected fine_tune with"),
    ):
        assert main(["train", *arguments, *out]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_another_network_under_the_same_sizes(run):
    source = WarmStart.read(run.folder)
    recipe = source.adapted(RECIPE, {})
    weights = run.model().weights
    wider = keras.Sequential([run.model(), keras.layers.Dense(3)])
    wider.layers[1].build((None, 5))
    with pytest.raises(ValueError, match=f"whose model has the {len(weights)} weights of"):
        source.start(recipe, wider)


def test_saved_models_that_hold_too_little(saved, tmp_path):
    version = tmp_path / "1"
    (version / METADATA_FILE).parent.mkdir(parents=True)
    (version / "saved_model.pb").write_bytes((saved / "saved_model.pb").read_bytes())
    metadata = json.loads((saved / METADATA_FILE).read_text())
    for missing, message in (
        ("parts", r"Expected the parts of an experiment in .*written by an earlier version"),
        ("model", "without model in its metadata"),
    ):
        fewer = {key: value for key, value in metadata.items() if key != missing}
        (version / METADATA_FILE).write_text(json.dumps(fewer))
        with pytest.raises(ValueError, match=message):
            WarmStart.read(tmp_path)

"""Captioners of transformers by the command line: imported, asked, explained, tuned."""

import io
import json
import re

import numpy as np
import pytest
from PIL import Image

from keras_attn.contracts import (
    CAPTION,
    CROSS_WEIGHTS,
    ERROR,
    IMAGE,
    SCORE,
    TEXT,
    TRACED_WEIGHTS,
    WEIGHTS,
)
from keras_attn.saved.session import SavedSession
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.demo.scenes import write_scenes
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.warm_start import WarmStart
from tests.pretrained.captioner_folders import GOLDEN

pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]
CASES = {"gpt2": (3, 3), "blip": (3, 3)}
"""Grids of the cases of square pictures."""


@pytest.fixture(scope="module", params=["gpt2", "blip"])
def imported(request, tmp_path_factory):
    case, out = request.param, tmp_path_factory.mktemp("imported") / request.param
    assert main(["import", str(GOLDEN / case), "--out", str(out)]) == 0
    with np.load(GOLDEN / case / "answers.npz") as arrays:
        return case, out, dict(arrays)


def encoded(picture):
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return file.getvalue()


@pytest.mark.slow
def test_answers_through_the_c_interface(imported, tmp_path, capsys):
    """A served sentence is that of transformers; malformed neighbors change nothing."""
    case, run, arrays = imported
    assert main(["export", str(run), str(tmp_path / "model"), "--beam-width", "4"]) == 0
    assert "exported" in capsys.readouterr().out
    card = (tmp_path / "model" / "1" / "README.md").read_text(encoding="utf-8")
    assert "imported from" in card and "not trained here" in card
    model = SavedSession(tmp_path / "model")
    pictures = [encoded(picture) for picture in arrays["pictures"]]
    rows = [row for picture in pictures for row in (picture, b"no picture")]
    answer = model.outputs("serving_default", {IMAGE: rows})
    texts = [text.decode() for text in answer[TEXT][::2, 0]]
    assert texts == [str(text).strip() for text in arrays["beam_20/texts"][:, 0]]
    np.testing.assert_allclose(answer[SCORE][::2, 0], arrays["beam_20/scores"][:, 0], atol=1e-4)
    assert not any(answer[ERROR][::2]) and all(answer[ERROR][1::2])
    explained = model.outputs("explain", {IMAGE: pictures})
    assert explained[WEIGHTS].shape[-2:] == CASES[case]
    seen = explained[WEIGHTS].sum(axis=(-2, -1))
    assert 0 < seen.max() < 1  # The rest is the class token's.
    attended = model.outputs("attention", {IMAGE: pictures[:2]})
    heads, traced = attended[CROSS_WEIGHTS], attended[TRACED_WEIGHTS]
    assert traced.shape == heads[:, 0, 0].shape
    assert 0 < traced.sum(axis=(-2, -1))[:, 0].max() < 1
    expected = arrays["cross_weights"][:, 0, :, 0, -np.prod(CASES[case]) :]
    np.testing.assert_allclose(
        heads[0, :, :, 0].reshape(expected.shape), expected, rtol=1e-5, atol=1e-4
    )
    given = [text.encode() for text in texts]
    scored = model.outputs("score", {IMAGE: pictures, CAPTION: given})
    good = scored[ERROR] == b""  # An answer that was cut off may have more pieces as a text.
    assert good.sum() >= 5 and np.all(scored[SCORE][good] < 0)
    model.close()
    (tmp_path / "dog.png").write_bytes(pictures[0])
    figure = tmp_path / "figure.png"
    command = ["explain", str(tmp_path / "model"), str(tmp_path / "dog.png")]
    for more in ([], ["--heads", "rollout"]):
        assert main([*command, "--out", str(figure), *more]) == 0
        assert figure.stat().st_size > 1000


@pytest.mark.slow
def test_it_is_a_run_as_any(imported, tmp_path, capsys):
    """Asked, tuned and evaluated."""
    case, run, arrays = imported
    (tmp_path / "bird.png").write_bytes(encoded(arrays["pictures"][3]))
    assert main(["predict", str(run), str(tmp_path / "bird.png"), "--json"]) == 0
    (text,) = json.loads(capsys.readouterr().out)["text"]
    name = "beam_20" if case == "gpt2" else "greedy_20"
    assert text == str(arrays[f"{name}/texts"][3].ravel()[0]).strip()
    data = write_scenes(tmp_path / "scenes", train=11, dev=3, test=3, novel=2)
    command = ["train", "flickr8k_vit", "--from", str(run), "--data", str(data), "--epochs", "2"]
    command += ["--out", str(tmp_path / "tuned"), "--learning-rate", "0.001", "--batch-size", "5"]
    assert main([*command, "--warmup-steps", "1", "--monitor", "val_loss", "--lengths", "19"]) == 0
    losses = [float(loss) for loss in re.findall(r"val_loss ([\d.e+]+)", capsys.readouterr().out)]
    assert losses and max(losses) < 30  # Of silent ids, too.
    tuned = Run(tmp_path / "tuned")
    assert case in tuned.description["origin"]["name"]
    assert main(["evaluate", str(tuned.folder), "--data", str(data)]) == 0
    assert "CIDEr" in capsys.readouterr().out
    own, other = (Run(folder).model().weights for folder in (run, tuned.folder))
    assert [weight.shape for weight in own] == [weight.shape for weight in other]
    assert any(np.any(np.asarray(a) != np.asarray(b)) for a, b in zip(own, other))


@pytest.mark.slow
def test_a_prompt_is_a_property_of_the_run(tmp_path, capsys):
    """Every caption begins with it; training goes on without it."""
    run, saved = tmp_path / "run", tmp_path / "model"
    with np.load(GOLDEN / "gpt2" / "prompts.npz") as arrays:
        prompt, texts = str(arrays["prompt"]), arrays["greedy_default/texts"][:, 0]
    with np.load(GOLDEN / "gpt2" / "answers.npz") as arrays:
        pictures = [encoded(picture) for picture in arrays["pictures"]]
    assert main(["import", str(GOLDEN / "gpt2"), "--prompt", prompt, "--out", str(run)]) == 0
    assert main(["export", str(run), str(saved), "--beam-width", "1"]) == 0
    card = (saved / "1" / "README.md").read_text(encoding="utf-8")
    assert f"Every caption begins with '{prompt}'." in card
    model = SavedSession(saved)
    answer = model.outputs("serving_default", {IMAGE: pictures})
    model.close()
    said = [text.decode() for text in answer[TEXT][:, 0]]
    assert said == [str(text).strip() for text in texts]
    (tmp_path / "dog.png").write_bytes(pictures[0])
    figure = tmp_path / "figure.png"
    command = ["explain", str(saved), str(tmp_path / "dog.png"), "--out", str(figure)]
    assert main(command) == 0 and figure.stat().st_size > 1000
    data = write_scenes(tmp_path / "scenes", train=11, dev=3, test=3, novel=2)
    result = tmp_path / "result.json"
    assert main(["evaluate", str(run), "--data", str(data), "--json", str(result)]) == 0
    captions = json.loads(result.read_text("utf-8"))["captions"]
    assert all(row["caption"].startswith(prompt) for row in captions)
    recipe = load_recipe("flickr8k_vit")
    assert Run(run).experiment().task.prompt == prompt
    assert WarmStart.read(run, recipe).adapted(recipe, {}).task.prompt == ""
    command = ["train", "flickr8k_vit", "--from", str(run), "--data", str(data)]
    command += ["--lengths", "19", "--prompt", "a photo of", "--out", str(tmp_path / "tuned")]
    capsys.readouterr()
    assert main(command) == 2
    assert "Expected no prompt in training, which is on whole captions" in capsys.readouterr().err


def test_what_cannot_be_imported(tmp_path, capsys):
    out = tmp_path / "run"
    languages = ["--source-language", "en"]
    for arguments, message in (
        ([str(GOLDEN / "gpt2"), *languages], "Expected no languages for a captioner"),
        ([str(GOLDEN / "gpt2_untied")], "Expected a captioner of square pictures"),
        ([str(GOLDEN / "gpt2"), "--prompt", "two " * 20], "Expected a prompt of fewer than 19"),
    ):
        assert main(["import", *arguments, "--out", str(out)]) == 2
        assert message in capsys.readouterr().err
        assert not out.exists()
    data = write_scenes(tmp_path / "scenes", train=11, dev=3, test=3, novel=2)
    command = ["train", "flickr8k_vit", "--vocabulary", "byte_pairs", "--data", str(data)]
    assert main([*command, "--out", str(tmp_path / "own")]) == 2
    assert "Expected --from RUN of keras-attn import" in capsys.readouterr().err

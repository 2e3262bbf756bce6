"""Captions judged by a CLIP, by the command line."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import ERROR, IMAGE, TEXT
from keras_attn.evaluation import clip_score, ref_clip_score
from keras_attn.pretrained import load_dual_encoder
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.demo.scenes import write_scenes
from keras_attn_pipelines.experiment.evaluation import Evaluation
from keras_attn_pipelines.experiment.parts import Request
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.clip_judge import ClipJudge
from tests.pretrained.captioner_folders import GOLDEN as CAPTIONERS
from tests.pretrained.test_dual_encoders import GOLDEN

CLIP = GOLDEN / "early"


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """An imported captioner, data for it, and the judgement."""
    folder = tmp_path_factory.mktemp("judged")
    run, data = folder / "run", write_scenes(folder / "scenes", train=11, dev=5, test=3, novel=2)
    assert main(["import", str(CAPTIONERS / "gpt2"), "--out", str(run)]) == 0
    command = ["evaluate", str(run), "--data", str(data), "--json", str(folder / "scores.json")]
    assert main([*command, "--clip", str(CLIP)]) == 0
    return run, data, json.loads((folder / "scores.json").read_text())


@pytest.mark.slow
def test_scores_are_those_of_each_picture_alone(judged, capsys):
    run, data, result = judged
    clip = load_dual_encoder(CLIP)

    def vectors(texts):
        tokens = clip.tokens([f"A photo depicts {text}" for text in texts])
        return np.asarray(clip.model.encode_texts(tokens))

    for place, row in enumerate(result["captions"]):
        (path,) = data.rglob(row["image"])
        pixels = clip.picture_format.decode(path.read_bytes())
        image = np.asarray(clip.model.encode_images(pixels[None]))
        caption = vectors([row["caption"]])
        (score,) = clip_score(image, caption)
        (other,) = ref_clip_score([score], caption, [vectors(row["references"])])
        assert result["clip_scores"][place] == pytest.approx(score, abs=1e-4)
        assert result["ref_clip_scores"][place] == pytest.approx(other, abs=1e-4)
    assert len(result["clip_scores"]) == 5 and max(result["clip_scores"]) > 0
    for name in ("clip_score", "ref_clip_score"):
        assert result["scores"][name] == pytest.approx(np.mean(result[f"{name}s"]))
    assert main(["evaluate", str(run), "--data", str(data)]) == 0
    assert "CLIPScore" not in capsys.readouterr().out


@pytest.mark.slow
def test_a_saved_model_is_judged_alike(judged, tmp_path, capsys):
    run, data, result = judged
    model = str(tmp_path / "model")
    assert main(["export", str(run), model, "--no-evaluate"]) == 0
    capsys.readouterr()
    assert main(["evaluate", model, "--data", str(data), "--clip", str(CLIP)]) == 0
    shown = capsys.readouterr().out
    assert (
        f"| {result['scores']['clip_score']:.3f} | {result['scores']['ref_clip_score']:.3f} |"
        in (shown)
    )
    assert f"CLIPScore by {CLIP}" in shown


@pytest.mark.systems
def test_a_picture_that_cannot_be_read_scores_0_and_is_listed():
    """In batches, of which the last is smaller."""
    random, pictures = np.random.default_rng(3), {}
    for name in ("a", "b", "c", "d", "e"):
        pixels = random.integers(0, 256, (17, 23, 3)).astype("uint8")
        pictures[name] = tf.io.encode_png(pixels).numpy()
    pictures["b"], pictures["d"] = b"no picture", pictures["d"][:40]
    records = [SimpleNamespace(name=name, captions=[name, f"a {name}"]) for name in pictures]
    answers = [
        {TEXT: np.array([f"the {name}".encode()]), ERROR: b"unread" if name == "d" else b""}
        for name in pictures
    ]
    work = SimpleNamespace(
        request=lambda record: Request(record.name, {IMAGE: pictures[record.name]})
    )
    evaluation = Evaluation({"bleu_4": 1.0}, {"BLEU-4": "1.0"}, 5, "pictures", errors=["d: unread"])
    judge = ClipJudge(CLIP)
    judged = judge.judged(evaluation, work, records, answers, batch=2)
    whole = judge.judged(evaluation, work, records, answers, batch=5)
    for name in ("clip_scores", "ref_clip_scores"):
        np.testing.assert_allclose(judged.facts[name], whole.facts[name], atol=1e-5)
        assert (np.array(judged.facts[name])[[1, 3]] == 0).all()
    assert max(judged.facts["clip_scores"]) > 0
    assert len(judged.errors) == 2 and judged.errors[1].startswith("b: ")
    assert set(judged.scores) == {"bleu_4", "clip_score", "ref_clip_score"}
    assert list(judged.cells) == ["BLEU-4", "CLIPScore", "RefCLIPScore"]


def test_other_answers_than_captions_are_not_judged():
    for recipe in ("translator_rnn", "digits_stn"):
        with pytest.raises(ValueError, match="Expected a task of captioned pictures with --clip"):
            ClipJudge.of(load_recipe(recipe), CLIP)
    assert ClipJudge.of(load_recipe("translator_rnn"), None) is None


def test_a_clip_that_cannot_judge_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"Received: model_type 'vision-encoder-decoder'; known"):
        ClipJudge.of(load_recipe("flickr8k"), CAPTIONERS / "gpt2")
    with pytest.raises(ValueError, match="Expected a file, a folder or the name"):
        ClipJudge.of(load_recipe("flickr8k"), tmp_path / "nothing")


def test_flags_name_the_clip():
    evaluation = Evaluation({}, {}, 3, "pictures", clip="my clip")
    assert evaluation.flags() == " --clip 'my clip'"

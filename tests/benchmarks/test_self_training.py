"""Self-training: which captions are translated, and the trainings."""

import csv

import pytest

from benchmarks import self_training, trainings
from keras_attn.saved.results import Prediction
from keras_attn_pipelines.data.readers.pair_reader import pair_sources

CAPTIONS = {
    "one.jpg": ("A man runs .", "a man , running", "Two dogs play !"),
    "two.jpg": ("A cat sleeps .", "a small cat is asleep"),
    "three.jpg": ("A man runs .", " . "),
}


def write_captions(folder):
    """captions.csv of three pictures."""
    folder.mkdir()
    with (folder / "captions.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [(image, caption) for image, each in CAPTIONS.items() for caption in each]
        csv.writer(file).writerows([("image", "caption"), *rows])
    return folder


def test_only_new_captions_of_pictures_that_nothing_held_out_describes(tmp_path):
    path = write_captions(tmp_path / "captions") / "captions.csv"
    everything = ["A man runs.", "A man, running.", "Two dogs play!", "A cat sleeps."]
    assert self_training.sentences(path, [], []) == [*everything, "A small cat is asleep."]
    assert self_training.sentences(path, ["Two dogs, play"], ["a Cat sleeps"]) == everything[:2]
    others = self_training.sentences(path, [], ["A man, running!", "The cat."])
    assert others == ["A cat sleeps.", "A small cat is asleep.", "A man runs."]


class Upper:
    """A teacher that answers in capitals, and one sentence not at all."""

    def __init__(self, run):
        assert run.model()

    def predict(self, texts):
        return [Prediction("" if text == "A cat sleeps." else text.upper()) for text in texts]


@pytest.mark.slow
def test_three_trainings_and_their_table(tmp_path, monkeypatch):
    captions, data, out = write_captions(tmp_path / "captions"), tmp_path / "data", tmp_path / "out"
    data.mkdir()
    for split, count in (("train", 23), ("val", 5), ("test_2016_flickr", 3)):
        for language in self_training.LANGUAGES:
            lines = (f"{language} {split} {'la ' * (number % 7)}.\n" for number in range(count))
            (data / f"{split}.{language}").write_text("".join(lines), encoding="utf-8")
    small = {"num_layers": 1, "hidden_dim": 8, "intermediate_dim": 7, "num_heads": 2}
    small |= {"vocabulary_size": 300, "batch_tokens": 128, "lengths": (12,)}
    stages = {name: {**values, "epochs": 1} for name, values in self_training.STAGES.items()}
    given = data, captions, out, small, stages
    monkeypatch.setattr(self_training, "RunPredictor", Upper)
    table = self_training.compare(*given)
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in table.splitlines()[2:]]
    splits = self_training.HELD_OUT
    assert rows == [[name, split] for name in self_training.STAGES for split in splits]
    train = pair_sources(out / "pairs", *self_training.LANGUAGES)["train"].read().pairs
    made = [(pair.source, pair.target) for pair in train[-4:]]
    assert made[0] == ("A man runs.", "A MAN RUNS.") and len(train) == 23 + 4
    assert "A cat sleeps." not in dict(made)  # It has no answer.
    with monkeypatch.context() as patch:
        patch.setattr(trainings, "train", None)
        patch.setattr(self_training, "RunPredictor", None)
        assert self_training.compare(*given) == table

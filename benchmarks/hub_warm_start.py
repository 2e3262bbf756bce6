"""What fine-tuning gives a captioner and a CLIP that were trained elsewhere, on a new subject.

From a folder of captioned pictures with a split (Flickr8k), all pictures whose captions name the
subject are set apart. On the rest, transformers on torch trains a small captioner of a Vision
Transformer and GPT-2, and a small CLIP, and writes both as folders of the hub
(`benchmarks.torch_hub_training`). They are imported, measured, fine-tuned on 300 of the subject's
training pictures (255 to train, 45 to pick the epoch), and measured again: the captioner by BLEU-4
and CIDEr-D and by CLIPScore of that CLIP, the CLIP by how often the picture of a caption is the
nearest one, or among the nearest 10, of the captions' pictures.

    python -m benchmarks.hub_warm_start --data flickr8k --out bench --peer-python PYTHON

PYTHON is one with transformers and torch. Stopped, it goes on with the same command.
"""

import json
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from benchmarks.race import python_with
from benchmarks.timing import table
from benchmarks.trainings import recorded, training_parser
from benchmarks.warm_start import SUBJECT, set_apart
from keras_attn.contracts import IMAGE, TOKENS
from keras_attn.pretrained import load_dual_encoder
from keras_attn.training import ContrastiveLoss
from keras_attn.whole_file import move_folder, whole_folder
from keras_attn_pipelines.recipes.flickr8k import RECIPE as FLICKR8K

COUNT, EPOCHS, BATCH = 300, 12, 64
SCORES = {"BLEU-4": "bleu_4", "CIDEr-D": "cider_d", "CLIPScore": "clip_score"}
DIGITS = {"bleu_4": 1}
FINE_TUNING = ["--epochs", str(EPOCHS), "--learning-rate", "3e-4", "--warmup-steps", "20"]
FINE_TUNING += ["--lengths", "14", "17", "20", "24", "31"]  # The decoder has 32 positions.
BEFORE, AFTER = "as it was imported", f"fine-tuned on {COUNT} pictures"


def compare(data, out, python) -> str:
    """Trains and measures what is not there yet; returns the tables."""
    others, own = set_apart(data, out, SUBJECT, COUNT)
    for kind in ("captioner", "clip"):
        if not (out / kind).exists():
            with whole_folder(out) as partial:
                module = "benchmarks.torch_hub_training"
                run([python, "-m", module, kind, str(others), str(partial)])
                move_folder(partial, out / kind)
    splits = {"of the subject": (own, "test"), "others": (others, "dev")}
    return "\n\n".join((captioners(out, own, splits), clips(out, own, splits)))


def captioners(out, own, splits):
    """The table of the captioner before and after."""
    imported, tuned = out / "imported", out / "tuned"
    if not imported.exists():
        cli("import", out / "captioner", "--out", imported)
    cli("train", "flickr8k_vit", "--from", imported, "--data", own, "--out", tuned, *FINE_TUNING)
    rows = []
    for name, folder in ((BEFORE, imported), (AFTER, tuned)):
        for of, (data, split) in splits.items():
            path = out / f"{folder.name}-{split}.json"
            judge = ("--clip", out / "clip", "--json", path)
            cli("evaluate", folder, "--data", data, "--split", split, *judge)
            scores = json.loads(path.read_text(encoding="utf-8"))["scores"]
            rows.append(
                [name, of, *(f"{scores[key]:.{DIGITS.get(key, 3)}f}" for key in SCORES.values())]
            )
    return table(("captioner", "pictures", *SCORES), rows)


def clips(out, own, splits):
    """The table of CLIP before and after."""
    rows = []
    found = recorded(out / "clip.json", fine_tuned_clip, out / "clip", own, splits)
    for name, recalls in found.items():
        rows += [[name, of, *(f"{recall:.1%}" for recall in recalls[of])] for of in splits]
    return table(("CLIP", "pictures", "nearest", "among 10"), rows)


def fine_tuned_clip(folder, own, splits):
    """Recalls before and after."""
    keras.utils.set_random_seed(0)
    clip = load_dual_encoder(folder)
    measured = {of: examples(clip, data, split) for of, (data, split) in splits.items()}
    before = {of: recalls(clip, *each) for of, each in measured.items()}
    images, captions = examples(clip, own, "train")
    batches = tf.data.Dataset.range(len(images)).shuffle(len(images)).batch(BATCH)

    def batch(rows):
        drawn = tf.random.uniform(tf.shape(rows), maxval=captions.shape[1], dtype=tf.int64)
        chosen = tf.gather_nd(captions, tf.stack([rows, drawn], axis=1))
        return {IMAGE: tf.gather(images, rows), TOKENS: clip.tokens(chosen)}, rows

    clip.model.compile(keras.optimizers.AdamW(1e-4), ContrastiveLoss(), jit_compile=False)
    clip.model.fit(batches.map(batch), epochs=EPOCHS, shuffle=False, verbose=0)
    return {BEFORE: before, AFTER: {of: recalls(clip, *each) for of, each in measured.items()}}


def examples(clip, data, split):
    """uint8 pictures (N, height, width, 3) as CLIP sees them, and their captions (N, 5)."""
    records = FLICKR8K.source.read(data).splits[split]
    encoded = [record.path.read_bytes() for record in records]
    pixels = [clip.picture_format.decode_batch([each])[0][0] for each in encoded]
    return np.stack(pixels), np.array([record.captions for record in records])


def recalls(clip, images, captions):
    """How often a first caption's picture is the nearest, and among the 10 nearest."""
    pictures = [
        clip.model.encode_images(rows) for rows in np.split(images, range(64, len(images), 64))
    ]
    texts = clip.model.encode_texts(clip.tokens(captions[:, 0]))
    scores = np.matmul(texts, np.concatenate(pictures).T)
    ranks = (scores > np.diag(scores)[:, None]).sum(axis=1)
    return [float((ranks < most).mean()) for most in (1, 10)]


def cli(*arguments):
    """A command of keras-attn."""
    run([sys.executable, "-m", "keras_attn_pipelines", *map(str, arguments)])


def run(command):
    """Runs a command, whose output is progress."""
    subprocess.run(command, check=True, stdout=sys.stderr)


if __name__ == "__main__":
    parser = training_parser(__doc__, "data folder with a split")
    parser.add_argument("--peer-python", default=sys.executable, help="with transformers and torch")
    given = parser.parse_args()
    if python_with("transformers", [given.peer_python]) is None:
        parser.error(f"{given.peer_python} has no transformers")
    print(compare(given.data, Path(given.out), given.peer_python))

"""Small folders of turned, shifted and cluttered digits: with and without a spatial transformer.

Run as `python -m benchmarks.moved_digits --digits mnist.npz --out FOLDER`. Writes pictures of MNIST
digits into FOLDER: each digit (28×28) is turned by up to 60 degrees and placed anywhere in 64×64
pixels, with 4 pieces of other digits of 8×8 pixels beside it; four classes, 200 pictures a class
for training, 50 for dev, 890 for test. Then trains, for each seed and for about the same number of
steps,

- a plain network of convolutions and max pooling, as Keras' examples build it, on the same pictures
  as `fit` gets them from `keras.utils.image_dataset_from_directory`, and with Keras' random layers;
- the CNN of the recipe `images_stn` (`--transforms none`);
- the recipe itself, whose CNN stands behind three spatial transformers in parallel, and with one
  that moves farther from where it starts;
- the same CNN on windows of 38×38 pixels around the true center of each digit, as they are and with
  the digit turned upright: what a spatial transformer could gain at most.

`--image-size 128` enlarges the pictures for the networks of the recipe. What has been measured
before in the folder is taken as it is, so that another size needs another folder.
"""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import trainings
from benchmarks.timing import table
from keras_attn.whole_file import made_folder, move_folder, whole_folder
from keras_attn_pipelines.recipes import images_stn

CLASSES = (2, 3, 5, 7)
COUNTS = {"train": 200, "dev": 50, "test": 890}
DEV_BEGINS = 30_000
"""First digit of the training set that pictures for dev are made of."""
SIZE, DIGIT, TURN = 64, 28, 60
PIECES, PIECE = 4, 8
WINDOW = 38
"""Side of the windows around true centers, in pixels."""
PLAIN, AUGMENTED = "plain network", "plain network, Keras' random layers"
CNN, RECIPE = "images_stn --transforms none", "images_stn"
SINGLE = "images_stn --parallel 1 --bound 0.5"
PLACED, UPRIGHT = "the CNN on true windows", "the CNN on true windows, digits upright"
NETWORKS = (PLAIN, AUGMENTED, CNN, SINGLE, RECIPE, PLACED, UPRIGHT)
IN_WINDOW = {"transforms": ("none",), "shift": 0.05}
VALUES: dict[str, dict] = {
    CNN: {"transforms": ("none",)},
    SINGLE: {"parallel": 1, "bound": 0.5},
    RECIPE: {},
    PLACED: IN_WINDOW,
    UPRIGHT: {**IN_WINDOW, "turn": 15.0},
}
"""Values of the recipe; a digit that has been found needs less shifting and turning in training."""
RECORD = "measured.json"


class Moved(NamedTuple):
    """A moved digit.

    Attributes:
        picture: uint8 (SIZE, SIZE).
        angle: degrees, counterclockwise.
        center: x and y of the digit, pixels.
    """

    picture: np.ndarray
    angle: float
    center: tuple[float, float]


def write_digits(digits, folder, name: str = CNN) -> Path:
    """Writes what a network reads of all splits, `split/class/number.png`, unless it is there."""
    folder = Path(folder)
    if folder.is_dir():
        return folder
    arrays, random = dict(np.load(digits)), np.random.default_rng(0)
    sources = {"train": ("train", 0), "dev": ("train", DEV_BEGINS), "test": ("test", 0)}
    made_folder(folder.parent)
    with whole_folder(folder.parent) as partial:
        for split, count in COUNTS.items():
            source, first = sources[split]
            pictures, labels = arrays[f"x_{source}"][first:], arrays[f"y_{source}"][first:]
            for label in CLASSES:
                place = made_folder(partial / split / str(label))
                for number, picture in enumerate(pictures[labels == label][:count]):
                    moved = _moved(picture, arrays["x_train"], random)
                    _seen(moved, name).save(place / f"{number}.png")
        move_folder(partial, folder)
    return folder


def _moved(picture, others, random) -> Moved:
    from PIL import Image

    angle = random.uniform(-TURN, TURN)
    turned = Image.fromarray(picture).rotate(angle, Image.Resampling.BILINEAR)
    canvas = np.zeros((SIZE, SIZE), "uint8")
    corner = random.integers(0, DIGIT - PIECE + 1, (PIECES, 2))
    for row, column in corner:
        piece = others[random.integers(len(others)), row : row + PIECE, column : column + PIECE]
        down, right = random.integers(0, SIZE - PIECE + 1, 2)
        canvas[down : down + PIECE, right : right + PIECE] = piece
    down, right = random.integers(0, SIZE - DIGIT + 1, 2)
    spot = canvas[down : down + DIGIT, right : right + DIGIT]
    np.maximum(spot, np.asarray(turned), out=spot)
    return Moved(canvas, angle, (right + DIGIT / 2, down + DIGIT / 2))


def _seen(moved, name):
    """What a network gets to see of a moved digit, as a PIL image."""
    from PIL import Image

    picture = Image.fromarray(moved.picture)
    if name == UPRIGHT:
        picture = picture.rotate(-moved.angle, Image.Resampling.BILINEAR, center=moved.center)
    if name in (PLACED, UPRIGHT):
        left, top = (int(place) - WINDOW // 2 for place in moved.center)
        picture = picture.crop((left, top, left + WINDOW, top + WINDOW))
    return picture


def plain_accuracy(data, seed: int, epochs: int, augmented: bool) -> tuple[float, int]:
    """Test accuracy and parameters of the plain network at its best epoch on dev."""
    import keras

    keras.utils.set_random_seed(seed)
    layers = keras.layers
    moved = [layers.RandomTranslation(0.2, 0.2), layers.RandomRotation(30 / 360)]
    network = keras.Sequential(
        [
            keras.Input((SIZE, SIZE, 1)),
            *(moved if augmented else []),
            layers.Rescaling(1 / 255),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(128, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(128, activation="relu"),
            layers.Dense(len(CLASSES)),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    network.compile("adam", loss, metrics=["accuracy"])
    splits = {
        split: keras.utils.image_dataset_from_directory(
            Path(data) / split,
            color_mode="grayscale",
            image_size=(SIZE, SIZE),
            shuffle=split == "train",
            seed=seed,
            verbose=False,
        )
        for split in COUNTS
    }
    best = keras.callbacks.EarlyStopping("val_accuracy", patience=epochs, restore_best_weights=True)
    network.fit(
        splits["train"],
        validation_data=splits["dev"],
        epochs=epochs,
        callbacks=[best],
        shuffle=False,  # The data set shuffles.
        verbose=0,
    )
    return 100 * network.evaluate(splits["test"], verbose=0)[1], network.count_params()


def measured(name: str, data, out, seed: int, epochs: int | None, size: int) -> dict:
    """Accuracy, parameters and CPU minutes of one training."""
    print(f"{name}, seed {seed}: training", flush=True)
    epochs = epochs or images_stn.RECIPE.fit.epochs
    if name in (PLAIN, AUGMENTED):
        work = plain_accuracy, data, seed, epochs, name == AUGMENTED
    else:
        values = {"seed": seed, "image_size": size, "epochs": epochs, **VALUES[name]}
        recipe = images_stn.RECIPE.replaced(values)
        work = trainings.accuracy_of, recipe, str(data), out / "run", "images_stn"
    (accuracy, parameters), minutes = trainings.minutes_of(*work, clock=time.process_time)
    return {"accuracy": accuracy, "parameters": parameters, "minutes": minutes}


def compare(
    digits, out, seeds: int, epochs: int | None = None, networks=NETWORKS, size: int = SIZE
) -> str:
    """Trains what has not been trained, and returns the table.

    Args:
        digits: path of mnist.npz.
        out: folder of the trainings.
        seeds: number of trainings of each network.
        epochs: of each; None: the recipe's.
        networks: some of `NETWORKS`.
        size: of the pictures as the recipe's networks see them, in pixels.
    """
    out, rows = Path(out), []
    for name in networks:
        number = 1 + NETWORKS.index(name)
        pictures = f"digits-{number}" if name in (PLACED, UPRIGHT) else "digits"
        data, records = write_digits(digits, out / pictures, name), []
        for seed in range(seeds):
            folder = out / f"{number}-{seed}"
            work = measured, name, data, folder, seed, epochs, size
            records.append(trainings.recorded(folder / RECORD, *work))
        accuracies = [record["accuracy"] for record in records]
        each = ", ".join(f"{accuracy:.1f}" for accuracy in accuracies)
        minutes = np.median([record["minutes"] for record in records])
        mean = f"{np.mean(accuracies):.1f}"
        rows.append([name, f"{records[0]['parameters']:,}", f"{minutes:.1f}", mean, each])
    head = ["network", "parameters", "CPU minutes", "test accuracy, %", "by seed"]
    return table(head, rows)


if __name__ == "__main__":
    parser = trainings.training_parser(__doc__, "", "each")
    parser.add_argument("--digits", required=True, help="mnist.npz, with keys as in Keras")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--only", nargs="+", default=NETWORKS, choices=NETWORKS)
    parser.add_argument("--image-size", type=int, default=SIZE, help="of the recipe's networks")
    given = parser.parse_args()
    usual = given.digits, given.out, given.seeds, given.epochs
    print(compare(*usual, given.only, given.image_size))

"""A film of what spatial transformers read, one frame per epoch."""

import contextlib
from pathlib import Path

import keras
import numpy as np
from PIL import Image

from keras_attn.models.spatial_transformer.spatial_transformer_classifier import composed_grid
from keras_attn.viz.sampling import film, pixels, sampling_figure
from keras_attn.whole_file import whole_file

PAIRS_IN_A_ROW = 4
MARGIN = 0.3
DPI = 60.0
MOST_FRAMES = 60


def film_callbacks(model, shown, folder) -> list["TransformerFilm"]:
    """The film of a model with spatial transformers, of a few pictures of dev; else none.

    Args:
        model: classifier of pictures.
        shown: function that makes the pictures, uint8 (B, height, width, 3).
        folder: path of the run directory.
    """
    has_transformers = bool(getattr(model, "transformers", ()))
    return [TransformerFilm(shown(), folder)] if has_transformers else []


class TransformerFilm(keras.callbacks.Callback):
    """Writes a picture per epoch, from `film/0000.png` before the first, and their film `film.gif`.

    The film has at most 60 frames, evenly spaced; pictures that are damaged or of another size are
    left out.

    Args:
        pictures: uint8 (B, height, width, 3).
        folder: path of the run directory.
    """

    changes_model = False

    def __init__(self, pictures, folder):
        super().__init__()
        self.shown, self.folder = pictures, Path(folder)

    def on_train_begin(self, logs=None):
        if not keras.ops.convert_to_numpy(self.model.optimizer.iterations):
            self._draw(0)

    def on_epoch_end(self, epoch, logs=None):
        self._draw(epoch + 1)

    def _frame(self, epoch):
        return self.folder / "film" / f"{epoch:04d}.png"

    def _read(self, epoch, shape):
        """The picture of an earlier epoch; None if missing or of another shape."""
        with contextlib.suppress(OSError), Image.open(self._frame(epoch)) as image:
            frame = np.asarray(image)
            return frame if frame.shape == shape else None
        return None

    def _draw(self, epoch):
        _, read = self.model.transformed(self.shown, training=False)
        crops = keras.ops.convert_to_numpy(keras.ops.cast(read[-1].images, "float32"))
        shown = self.shown / 255.0
        if crops.shape[-1] == 1:
            shown = shown.mean(axis=-1, keepdims=True)
        title = f"epoch {epoch}" if epoch else "before training"
        look = {"title": title, "columns": PAIRS_IN_A_ROW, "margin": MARGIN}
        frame = pixels(sampling_figure(shown, composed_grid(read), crops, **look), DPI)
        path = self._frame(epoch)
        path.parent.mkdir(exist_ok=True)
        with whole_file(path) as partial:
            Image.fromarray(frame).save(partial, "PNG")
        earlier = [self._read(number, frame.shape) for number in range(epoch)]
        frames = [*(known for known in earlier if known is not None), frame]
        chosen = np.unique(np.linspace(0, len(frames) - 1, MOST_FRAMES).round().astype(int))
        with whole_file(self.folder / "film.gif") as partial:
            partial.write_bytes(film([frames[place] for place in chosen]))

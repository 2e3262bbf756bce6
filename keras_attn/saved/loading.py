"""Loads exported models of any kind."""

import sys

from keras_attn.escaping import escape_terminal
from keras_attn.saved.bundled import model_folder
from keras_attn.saved.saved_model import Saved


def load(folder) -> Saved:
    """Loads a SavedModel that was exported by this project, of whichever kind it is.

    Writes the model's terms of use to standard error, if it has any.

    Args:
        folder: path of the model's folder (its highest version is taken) or of one version, or the
            name of a model in `saved_models` of a checkout.

    Returns:
        `Saved`, with `predict`, `explain` and `score`.

    Raises:
        ValueError: no SavedModel there, damaged metadata, or one with several inputs that are no
            story with a question.

    Example:
        `keras_attn.load("flickr8k_captioner").predict(["photo.jpg"])`
    """
    saved = Saved(model_folder(folder))
    if saved.terms:
        version = saved.folder.resolve()
        name = version.parent.name if version.name.isdecimal() else version.name
        print(escape_terminal(f"Terms of use of {name}: {saved.terms}"), file=sys.stderr)
    return saved

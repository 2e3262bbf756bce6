"""What an exported model declares beside its graph: metadata, and views of its answers."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from keras_attn.contracts import METADATA_FILE
from keras_attn.untrusted import read_json
from keras_attn.viz.declared.notes import Note
from keras_attn.viz.declared.plain import INPUT, OUTPUT

VIEWS = "views"
"""Key of the metadata: the declared views and notes, as plain values."""


def read_metadata(version) -> dict:
    """What `export_service` wrote about a version: precision, search, sizes, warm-up, model.

    Raises:
        ValueError: missing or damaged metadata.
    """
    path = Path(version) / METADATA_FILE
    if not path.is_file():
        raise ValueError(f"Expected a version with {METADATA_FILE}. Received: {version}")
    metadata = read_json(path)
    if not isinstance(metadata, dict):
        raise ValueError(f"Expected a JSON object in {path}. Received: {metadata!r:.80}")
    return metadata


def check_views(
    views, inputs: Mapping[str, Iterable[str]], outputs: Mapping[str, Mapping[str, np.dtype]]
) -> None:
    """Raises ValueError for a declared view of inputs or outputs that are not there, or for a note
    on an output that is no whole number, or no number if it has a limit.

    Args:
        views: declared views, and `Note`s.
        inputs: names of each signature's inputs.
        outputs: NumPy's types of each signature's outputs by name.
    """
    for view in views:
        for mark, there in ((INPUT, inputs), (OUTPUT, outputs)):
            names = set(there.get(view.signature, ()))
            if missing := sorted(view.names(mark) - names):
                raise ValueError(
                    f"Expected {mark}s {', '.join(missing)} of {view.signature}, which a declared "
                    f"view needs. Received: {', '.join(sorted(names)) or 'none'}"
                )
        if isinstance(view, Note):
            dtype = outputs[view.signature][view.output]
            kinds, wanted = ("biu", "whole numbers") if view.below is None else ("fiu", "numbers")
            if dtype.kind not in kinds:
                raise ValueError(
                    f"Expected {wanted} as {view.output}, on which there is a note. "
                    f"Received: {dtype.name}"
                )

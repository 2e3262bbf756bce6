"""The views of SavedModels whose metadata declare none: of earlier versions, or of elsewhere."""

from collections.abc import Mapping
from typing import Any

from keras_attn.contracts import FACTS, IMAGE, QUESTION, SEQUENCE, SOURCE, STORY
from keras_attn.serving import views
from keras_attn.viz.declared import Matrix, Strings
from keras_attn.viz.declared.plain import OUTPUT, Plain

DRAWN = "drawn"
"""Key of earlier metadata: a dict from the name of an output, float (S,) or (T, S) for each
request, to the names of what its axes stand for, string outputs (S,), or (T,) and (S,)."""
SERVICES = (
    ({FACTS}, views.FACT_VIEWS),
    ({SEQUENCE}, (views.TRACKS, views.LONGER_NOTE)),
    ({SEQUENCE}, (views.LONGER_NOTE,)),
    ({IMAGE}, views.SAMPLE_VIEWS),
    ({IMAGE}, views.CAPTION_VIEWS),
    ({IMAGE}, views.PATCH_VIEWS),
    ({SOURCE}, views.TREE_VIEWS),
    ({SOURCE}, views.TEXT_VIEWS),
    ({SOURCE}, views.SHADED_VIEWS),
)
"""Names of the inputs, and the views of a model whose signatures have the outputs of the first."""


def views_of(
    inputs: set[str], outputs: Mapping[str, set[str]], metadata: Mapping[str, Any]
) -> list[Plain]:
    """The views that a SavedModel would declare.

    Args:
        inputs: names of the inputs of `serving_default`.
        outputs: names of the outputs of each signature.
        metadata: of the SavedModel.

    Raises:
        ValueError: metadata that name no axes of what they declare to be drawn.
    """
    if metadata.get(DRAWN):
        return [*_matrices(metadata[DRAWN])]
    candidates = [(asked, declared) for asked, declared in SERVICES if asked == inputs]
    if inputs == {STORY, QUESTION}:
        candidates = [(inputs, views.story_views(str(metadata.get("reader", "hop"))))]
    return next((there for _, declared in candidates if (there := _there(declared, outputs))), [])


def _there(declared, outputs):
    """The views whose outputs are there; none without those of the first."""
    usable = [view for view in declared if view.names(OUTPUT) <= outputs.get(view.signature, set())]
    return usable if declared[0] in usable else []


def _matrices(axes_by_name):
    """The matrices of DRAWN."""
    if not isinstance(axes_by_name, dict) or not all(
        isinstance(axes, list) and 1 <= len(axes) <= 2 and all(isinstance(a, str) for a in axes)
        for axes in axes_by_name.values()
    ):
        raise ValueError(
            f"Expected {DRAWN} to be an object with one or two names for each output. "
            f"Received: {axes_by_name!r:.80}"
        )
    for output, axes in axes_by_name.items():
        *rows, columns = [Strings(axis, axis) for axis in axes]
        yield Matrix(output, columns, *rows, name=output)

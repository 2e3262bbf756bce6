"""The views that the services of this project declare."""

from keras_attn.contracts import (
    ANSWER_PIECES,
    CONTRIBUTIONS,
    CROP,
    CROSS_WEIGHTS,
    DECODER_WEIGHTS,
    DROPPED,
    ENCODER_WEIGHTS,
    FACTS,
    FAMILIARITY,
    GRID,
    LINKS,
    LONGER,
    PICTURE,
    READ_WEIGHTS,
    SENTENCES,
    SOURCE_FACTS,
    SOURCE_PIECES,
    STEPS,
    TAGS,
    TOKENS,
    TRACED_WEIGHTS,
    VIEW,
    WEIGHTS,
    WRITE_WEIGHTS,
)
from keras_attn.viz.declared import (
    Before,
    Heads,
    Matrix,
    Note,
    Numbered,
    PictureMap,
    Pieces,
    Requested,
    Samples,
    ShadedText,
    Strings,
    Tracks,
    Tree,
)

__all__ = [
    "CAPTION_VIEWS",
    "CONTRIBUTION_VIEWS",
    "CROP_VIEWS",
    "DROPPED_NOTE",
    "FACT_VIEWS",
    "FAMILIARITY_NOTE",
    "LONGER_NOTE",
    "PATCH_VIEWS",
    "SAMPLE_VIEWS",
    "SHADED_VIEWS",
    "TEXT_VIEWS",
    "TRACED_VIEWS",
    "TRACKS",
    "TREE_VIEWS",
    "story_views",
]
ATTENTION = "attention"
ANSWER_WORDS = Pieces(ANSWER_PIECES, "answer", TOKENS)
"""Words of the answer, of `explain`."""
SECOND_PASS_WORDS = Pieces(ANSWER_PIECES, "answer")
"""Words of the answer, of `attention`."""
SOURCE = Pieces(SOURCE_PIECES, "source")


def _heads(answer, source, before):
    """Every head of an encoder and a decoder, over these axes."""
    return (
        Heads(
            CROSS_WEIGHTS,
            source,
            answer,
            name="Answer to source",
            signature=ATTENTION,
            heads="cross",
        ),
        Heads(
            ENCODER_WEIGHTS,
            source,
            source,
            name="Source to itself",
            signature=ATTENTION,
            heads="encoder",
        ),
        Heads(
            DECODER_WEIGHTS,
            before,
            answer,
            name="Answer to itself",
            signature=ATTENTION,
            heads="decoder",
        ),
    )


CAPTION_VIEWS = (
    PictureMap(WEIGHTS, ANSWER_WORDS, name="Where each word looked"),
    PictureMap(
        CROSS_WEIGHTS,
        SECOND_PASS_WORDS,
        name="Where each head looked",
        signature=ATTENTION,
        heads="cross",
    ),
)
TRACED_VIEWS = (
    PictureMap(
        TRACED_WEIGHTS,
        SECOND_PASS_WORDS,
        name="Each word's attention, traced to the patches",
        signature=ATTENTION,
        heads="rollout",
    ),
)
TEXT_VIEWS = (
    Matrix(WEIGHTS, SOURCE, ANSWER_WORDS, outlined=True, name="Alignment"),
    *_heads(SECOND_PASS_WORDS, SOURCE, Before(ANSWER_PIECES, "read before")),
)
TREE_VIEWS = (
    Tree(WEIGHTS, ANSWER_PIECES, SOURCE_PIECES, TAGS, name="Brackets"),
    *_heads(
        Strings(ANSWER_PIECES, "tree"),
        Pieces(SOURCE_PIECES, "sentence"),
        Before(ANSWER_PIECES, "read before", words=False),
    ),
)
FACT_VIEWS = (
    Matrix(WEIGHTS, Requested(FACTS, "facts", SOURCE_FACTS), ANSWER_WORDS, name="Facts"),
    Matrix(WEIGHTS, Pieces(SOURCE_PIECES, "facts"), ANSWER_WORDS, name="Words"),
    Matrix(
        LINKS,
        Requested(FACTS, "the next fact"),
        Requested(FACTS, "after", first="(first)"),
        name="Links",
        heads="links",
    ),
)
PATCH_VIEWS = (
    PictureMap(WEIGHTS, name="Attention rollout"),
    PictureMap(
        ENCODER_WEIGHTS,
        grid=WEIGHTS,
        layer="block",
        name="Each block and head",
        signature=ATTENTION,
        heads="encoder",
    ),
)
SAMPLE_VIEWS = (Samples(PICTURE, GRID, CROP, name="What was read"),)
"""Of crops whose view is not among the outputs."""
CROP_VIEWS = (Samples(PICTURE, GRID, CROP, VIEW, name="What was read"),)
SHADED_VIEWS = (ShadedText(WEIGHTS, SOURCE, name="Weight of each word", heads=ATTENTION),)
CONTRIBUTION_VIEWS = (
    ShadedText(CONTRIBUTIONS, SOURCE, signed=True, name="Contribution of each word"),
    *SHADED_VIEWS,
)
TRACKS = Tracks(WRITE_WEIGHTS, READ_WEIGHTS, Strings(STEPS, "step"), name="Heads")
LONGER_NOTE = Note(LONGER, "longer than the problems that the model was trained on")
FAMILIARITY_NOTE = Note(
    FAMILIARITY,
    "unlike the pictures that the model was trained on (familiarity {value})",
    below=0.5,
)
DROPPED_NOTE = Note(
    DROPPED,
    "the oldest {count} sentences were not read, the memory has no room for them",
    "the oldest sentence was not read, the memory has no room for it",
)


def story_views(reader: str):
    """Which sentences of a story each hop or head read.

    Args:
        reader: "hop" or "head".
    """
    rows = Numbered(reader, f"{reader}s")
    read = Matrix(
        WEIGHTS, Strings(SENTENCES, "story"), rows, sideways=True, name=rows.title.capitalize()
    )
    return (read, DROPPED_NOTE)

"""The commands that follow a training or an export, ready to paste."""

import json
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_attn.contracts import FACTS, IMAGE, QUESTION, STORY
from keras_attn.saved.inputs import story_and_question, text_of
from keras_attn_pipelines.runs.description import EXAMPLE
from keras_attn_pipelines.runs.run import Run

MOST_ASKED, MOST_SHOWN = 20, 160
"""Records among which an input to show is looked for, and its characters at most."""
PLACEHOLDER = "photo.jpg"
"""Stands for a picture where the records are no files."""


def example_of(work, records: Sequence[Any]) -> str:
    """An input that `keras-attn predict` takes: that of the first record that fits into a line.

    A text that is longer is cut at a word. '' where no record has an input of one argument.

    Args:
        work: `Work`.
        records: of dev.
    """
    asked = (records[place] for place in range(min(len(records), MOST_ASKED)))
    texts = (_argument(work.request(record)) for record in asked)
    return next((text for text in texts if text and not text.startswith("-")), "")


def _argument(request):
    inputs = request.inputs
    if IMAGE in inputs:
        path = Path(request.name)
        return str(path.resolve()) if path.is_file() else PLACEHOLDER
    if inputs.keys() == {STORY, QUESTION}:
        text = " ".join(text_of(inputs[key]).replace("\n", " ") for key in (STORY, QUESTION))
        fits = len(text) <= MOST_SHOWN and story_and_question(text) == tuple(inputs.values())
        return text if fits else ""
    if inputs.keys() == {FACTS}:
        facts = [[text_of(part) for part in fact] for fact in inputs[FACTS]]
        text = json.dumps(facts, ensure_ascii=False)
        return text if len(text) <= MOST_SHOWN else ""
    (content, *others) = inputs.values()
    if others or not isinstance(content, bytes):
        return ""
    text = content.decode(errors="replace")
    return textwrap.shorten(text, MOST_SHOWN, placeholder="") if text.isprintable() else ""


def after_training(run: Run) -> str:
    """Lines with the commands that evaluate, export and ask a run."""
    description, folder = run.description, shlex.quote(str(run.folder))
    split = "test" if description["records"].get("test") else "dev"
    model = shlex.quote(f"saved_models/{run.folder.resolve().name}")
    lines = [
        f"keras-attn evaluate {folder} --data {shlex.quote(description['data'])} --split {split}",
        f"keras-attn export {folder} {model}",
        _asking(description, model),
    ]
    return "\n".join(["next:", *(f"  {line}" for line in lines)])


def after_export(run: Run, folder) -> str:
    """Lines with the command that asks an exported model."""
    return f"next:\n  {_asking(run.description, shlex.quote(str(folder)))}"


def _asking(description: Mapping[str, Any], model):
    example = description.get(EXAMPLE)
    return (
        f"keras-attn predict {model} {shlex.quote(example)}"
        if example
        else f"keras-attn serve {model}"
    )

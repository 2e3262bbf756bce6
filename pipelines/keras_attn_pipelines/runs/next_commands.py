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

    Of the first records, those without an apostrophe come before others, since a shell reads these
    as they are. A text that is longer is cut at a word. '' where no record has an input of one
    argument.

    Args:
        work: `Work`.
        records: of dev.
    """
    asked = (records[place] for place in range(min(len(records), MOST_ASKED)))
    texts = (_argument(work.request(record)) for record in asked)
    return min((text for text in texts if text and text[0] != "-"), key=_needs_escapes, default="")


def _needs_escapes(text):
    return "'" in text


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
    data = shlex.quote(_nearer(description["data"]))
    split = "test" if description["records"].get("test") else "dev"
    model = shlex.quote(f"saved_models/{run.folder.resolve().name}")
    lines = [
        f"keras-attn evaluate {folder} --data {data} --split {split}",
        f"keras-attn export {folder} {model}",
        _asking(description, model),
    ]
    return "\n".join(["next:", *(f"  {line}" for line in lines)])


def after_export(run: Run, folder) -> str:
    """Lines with the command that asks an exported model."""
    return f"next:\n  {_asking(run.description, shlex.quote(str(folder)))}"


def _asking(description: Mapping[str, Any], model):
    if not (example := description.get(EXAMPLE)):
        return f"keras-attn serve {model}"
    return f"keras-attn predict {model} {shlex.quote(_nearer(example))}"


def _nearer(text):
    """The path from here, if a text is one of a file or folder below."""
    path, here = Path(text), Path.cwd()
    return str(path.relative_to(here)) if path != here and path.is_relative_to(here) else text

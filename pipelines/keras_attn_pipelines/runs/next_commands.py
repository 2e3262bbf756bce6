"""The commands that follow a training or an export, ready to paste."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_attn.contracts import IMAGE
from keras_attn_pipelines.runs.description import EXAMPLE
from keras_attn_pipelines.runs.run import Run

MOST_ASKED, MOST_SHOWN = 20, 80
"""Records among which the shortest request is looked for, and its characters at most."""


def example_of(work, records: Sequence[Any]) -> str:
    """An input that `keras-attn predict` takes, of the first records: a path or a short text; ''
    if none is one argument."""
    asked = (records[place] for place in range(min(len(records), MOST_ASKED)))
    texts = (_argument(work.request(record)) for record in asked)
    return min((text for text in texts if 0 < len(text) <= 2 * MOST_SHOWN), key=len, default="")


def _argument(request):
    if Path(request.name).is_file():
        return str(Path(request.name).resolve())
    if len(request.inputs) != 1 or IMAGE in request.inputs:
        return ""
    (content,) = request.inputs.values()
    text = content.decode(errors="replace") if isinstance(content, bytes) else ""
    return text if text.isprintable() and len(text) <= MOST_SHOWN else ""


def after_training(run: Run) -> str:
    """Lines with the commands that evaluate, export and ask a run."""
    description, folder = run.description, shlex.quote(str(run.folder))
    split = "test" if "test" in description["records"] else "dev"
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

"""The model that a training starts from, and the terms that come with its weights."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from keras_attn.contracts import CARD_FILE, METADATA_FILE, TERMS
from keras_attn.escaping import escape_html, escape_markdown
from keras_attn.serving.declared import read_metadata

LIMITS, LICENSE = SECTIONS = ("Use and limits", "License")
"""Sections of a model card that apply to models that start from its weights, too."""
INHERITED = (*SECTIONS, TERMS)
NAME = "name"
FOLDED = re.compile(r"<details>\n<summary>(.*?)</summary>\n\n(.*?)\n\n</details>", re.DOTALL)


def origin_of_version(version: Path) -> dict[str, str]:
    """Name of a SavedModel and the terms on its card, by section."""
    version = version.resolve()
    numbered = version.name.isdecimal()
    name = f"{version.parent.name}, version {version.name}" if numbered else version.name
    card = version / CARD_FILE
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    text = FOLDED.sub(r"\1:\n\n\2", text)
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2]))
    known = {key: escape_html(sections[key]).strip() for key in SECTIONS if key in sections}
    if (version / METADATA_FILE).is_file() and (terms := read_metadata(version).get(TERMS)):
        known[TERMS] = str(terms)
    return {NAME: name, **known}


def origin_of_run(folder: Path, description: Mapping) -> dict[str, str]:
    """Name of a run and the terms of the model that it started from, if any."""
    earlier = description.get("origin") or {}
    terms = {key: earlier[key] for key in INHERITED if key in earlier}
    name = folder.resolve().name
    return {NAME: f"{name} (from {earlier[NAME]})" if NAME in earlier else name, **terms}


def joined_origin(origins: Sequence[Mapping[str, str] | None]) -> dict[str, str] | None:
    """The origin of averaged runs: all names and all terms; None if no run has an origin.

    Args:
        origins: of the runs.
    """
    different: dict[str, Mapping[str, str]] = {}
    for origin in origins:
        if origin:
            different.setdefault(json.dumps(origin, sort_keys=True), origin)
    known = list(different.values())
    if len(known) < 2:
        return dict(known[0]) if known else None
    terms = {}
    for section in INHERITED:
        texts = [
            f"Of {origin[NAME]}:\n\n{origin[section]}" for origin in known if section in origin
        ]
        if texts:
            terms[section] = "\n\n".join(texts)
    return {NAME: " and ".join(origin[NAME] for origin in known), **terms}


def with_inherited(section: str, text: str, origin: Mapping[str, str]) -> str:
    """A section of a model card with the terms of the model that it started from."""
    if section not in origin:
        return text
    inherited = f"{_heading(origin)}:\n\n{origin[section]}"
    return f"{text.strip()}\n\n{inherited}".strip()


def fold_inherited(card: str, origin: Mapping[str, str]) -> str:
    """A model card in which what `with_inherited` added is folded."""
    for text in (escape_html(origin[key]).strip() for key in SECTIONS if key in origin):
        heading = escape_html(_heading(origin))
        folded = f"<details>\n<summary>{heading}</summary>\n\n{text}\n\n</details>"
        card = card.replace(f"{heading}:\n\n{text}", folded)
    return card


def _heading(origin):
    return f"Of the weights that it started from, {escape_markdown(origin[NAME])}"

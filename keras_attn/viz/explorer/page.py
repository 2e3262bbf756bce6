"""The attention explorer: one page of HTML that shows an answer and where a model looked."""

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

from keras_attn.escaping import escape_script
from keras_attn.viz.views.view import View
from keras_attn.whole_file import whole_file

TITLE = "Attention explorer"


@dataclass(frozen=True)
class ExplorerPage:
    """An answer and views of where the model looked, as one self-contained page.

    The page asks no network and runs no script but its own, which its Content-Security-Policy
    enforces. It is used by mouse, touch or keyboard, and follows the browser's light or dark theme.
    A notebook shows it.

    Attributes:
        asked: the input in words, such as a sentence or the name of a file.
        answers: tuple of (text, score), best first.
        views: tuple of `View`s.
        unit: of the scores: "nats", "probability" or another.
        notes: sentences about the answer.
        other_views: tuple of such tuples, the views of each answer after the first; empty where
            there are views of the best alone.
    """

    asked: str
    answers: Sequence[tuple[str, float]]
    views: Sequence[View]
    unit: str = "nats"
    notes: Sequence[str] = ()
    other_views: Sequence[Sequence[View]] = ()

    def html(self) -> str:
        """The page; "?" for what UTF-8 cannot hold."""
        pictures: dict[str, int] = {}
        facts = {
            "asked": self.asked,
            "unit": self.unit,
            "answers": [[text, round(float(score), 4)] for text, score in self.answers],
            "notes": list(self.notes),
            "views": _parts(self.views, pictures),
            "other_views": [_parts(views, pictures) for views in self.other_views],
            "pictures": list(pictures),
        }
        style, script = _resource("explorer.css"), _resource("explorer.js")
        best = self.answers[0][0] if self.answers else self.asked
        page = Template(_resource("explorer.html")).substitute(
            title=html.escape(f"{best or self.asked} – {TITLE}"),
            style=style,
            script=script,
            facts=escape_script(json.dumps(facts, ensure_ascii=False, allow_nan=False)),
            style_hash=policy_hash(style),
            script_hash=policy_hash(script),
        )
        return page.encode(errors="replace").decode()

    def save(self, path) -> Path:
        """Writes the page.

        Raises:
            OSError: the file cannot be written; an existing file is unchanged.
        """
        path = Path(path)
        with whole_file(path) as partial:
            partial.write_text(self.html(), encoding="utf-8")
        return path

    def _repr_html_(self):
        page = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:0"></iframe>'


def _parts(views, pictures):
    """Parts of the page, in which pictures are their places among `pictures`, each stored once."""
    parts = [part for view in views for part in view.parts()]
    for part in parts:
        if "picture" in part:
            part["picture"] = pictures.setdefault(part["picture"], len(pictures))
    return parts


def _resource(name):
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def policy_hash(text: str) -> str:
    """A script or style as a Content-Security-Policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def page_hashes() -> tuple[str, str]:
    """The hashes of the page's script and style."""
    return policy_hash(_resource("explorer.js")), policy_hash(_resource("explorer.css"))

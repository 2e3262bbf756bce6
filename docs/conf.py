"""Sphinx configuration: `make docs`."""

import importlib
import inspect
import os
import re
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import latex2mathml.converter  # noqa: E402
from docutils import nodes  # noqa: E402

from keras_attn.version import __version__  # noqa: E402

project, author, release = "keras-attn", "the keras-attn authors", __version__
project_copyright = "the keras-attn authors"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_design"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "keras-attn"
html_math_renderer = "mathml"

nb_execution_mode = "cache"
nb_execution_excludepatterns = ["notebooks/*"]  # Tests run them small.
nb_execution_timeout = 900
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_output_stderr = "remove"

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_inherit_docstrings = False
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_custom_sections = [
    ("Call arguments", "params_style"),
    ("Returned", "params_style"),
    "Source",
]

PACKAGES = {
    "layers": "Layers",
    "models": "Models",
    "pretrained": "Pretrained checkpoints",
    "decoding": "Decoding",
    "training": "Training",
    "evaluation": "Evaluation",
    "text": "Text",
    "contracts": "Names of features, answers and ids",
    "images": "Images",
    "alignment": "Word alignment",
    "saved": "Exported models in Python",
    "serving": "Serving",
    "serving.readers": "Readers of services",
    "serving.writers": "Writers of services",
    "serving.classifier_functions": "Functions of classifiers",
    "serving.views": "Views of the bundled services",
    "viz": "Figures of attention",
    "viz.declared": "Declared views",
    "viz.views": "Views of an answer",
    "ops": "Functions of tensors",
}
SECTION = re.compile(r"[A-Z][A-Za-z ]+:$")


OWN_PAGES = ("layers", "models")
"""Packages whose classes have a page each."""


def write_api_pages() -> None:
    """A page for each package with its public names, or with links to a page for each class."""
    folder = ROOT / "docs" / "api"
    folder.mkdir(exist_ok=True)
    for package, title in PACKAGES.items():
        module = importlib.import_module(f"keras_attn.{package}")
        lines, pages = [], []
        if not hasattr(module, "__all__"):
            lines = [f".. automodule:: keras_attn.{package}", "   :members:", ""]
        for name in sorted(getattr(module, "__all__", ()), key=str.lower):
            entry = api_entry(package, name, getattr(module, name))
            if package in OWN_PAGES and isinstance(getattr(module, name), type):
                (folder / package).mkdir(exist_ok=True)
                write_page(folder / package / f"{name}.md", name, f"keras_attn.{package}", entry)
                pages.append(f"{package}/{name}")
            else:
                lines += entry
        write_page(folder / f"{package}.md", title, f"keras_attn.{package}", lines, pages)
    write_page(folder / "index.md", "API reference", pages=list(PACKAGES))


def api_entry(package: str, name: str, value) -> list[str]:
    """The lines of reStructuredText that document a public name; none for a module."""
    if isinstance(value, type):
        return [f".. autoclass:: keras_attn.{package}.{name}", "   :members:", ""]
    if callable(value):
        return [f".. autofunction:: keras_attn.{package}.{name}", ""]
    if hasattr(value, "__path__"):
        return []
    keys = ", ".join(f"``{key}``" for key in value) if isinstance(value, dict) else ""
    return [f".. py:data:: keras_attn.{package}.{name}", "", f"   {keys}", ""]


def write_page(path: Path, title: str, module: str = "", entries=(), pages=()) -> None:
    """Writes a page of the API, with entries in reStructuredText and links to other pages."""
    lines = [f"# {title}", "", *[f"`{module}`", ""] * bool(module)]
    lines += ["```{toctree}", ":maxdepth: 1", "", *pages, "```", ""] * bool(pages)
    lines += ["```{eval-rst}", *entries, "```", ""] * bool(entries)
    path.write_text("\n".join(lines), encoding="utf-8")


def literal_equations(app, what, name, obj, options, lines) -> None:
    """Indented equations of a docstring become literal blocks; bars are no substitutions."""
    written, before, inside = [], "", False
    for line in _named_returns(lines):
        indented = line.startswith("    ")
        if indented and not inside and not SECTION.match(before) and written and not written[-1]:
            written += ["::", ""]
            inside = True
        elif line and not indented:
            inside = False
        if line:
            before = line
        if SECTION.match(before):
            inside = False
        if not inside:
            line = re.sub(r"(?<![`\\])\|", r"\|", line)
            line = re.sub(r"(`[^`]+`)(\w)", r"\1\\ \2", line)
        written.append(line)
    lines[:] = written


def signature_of(app, what, name, obj, options, signature, annotation):
    """The arguments of a class' `__init__`, where Keras hides them."""
    if what != "class" or "__init__" not in vars(obj):
        return None
    parameters = list(inspect.signature(obj.__init__).parameters.values())[1:]
    return str(inspect.Signature([part.replace(annotation=part.empty) for part in parameters])), ""


class SentencesOfData:
    """Keeps napoleon from taking "Batch key: tokens" for a type and a description."""

    def __init__(self):
        self.lines = {}

    def keep(self, app, what, name, obj, options, lines):
        """Before napoleon."""
        if what == "data":
            self.lines[name] = list(lines)

    def restore(self, app, what, name, obj, options, lines):
        """After it."""
        lines[:] = self.lines.pop(name, lines)


def write_math(writer, node):
    """MathML, which browsers draw without a script; a block scrolls sideways where it is wide."""
    is_block = isinstance(node, nodes.math_block)
    display = "block" if is_block else "inline"
    math = latex2mathml.converter.convert(node.astext(), display=display)
    if is_block:
        math = math.replace("<math ", '<math style="overflow: visible" ', 1)
        math = f'<div style="overflow: auto hidden; padding: 0.4em 0 0.6em">{math}</div>'
    writer.body.append(math)
    raise nodes.SkipNode


def _named_returns(lines):
    """The lines, with several returned values as a list of names."""
    if "Returns:" not in lines:
        return lines
    start = lines.index("Returns:")
    end = next((n for n in range(start + 1, len(lines)) if not lines[n].startswith("  ")), None)
    section = lines[start + 1 : end]
    named = [line for line in section if re.match(r"    \w+: ", line)]
    return [*lines[:start], "Returned:", *lines[start + 1 :]] if len(named) > 1 else lines


def setup(app):
    """Connects the above."""
    write_api_pages()
    app.connect("autodoc-process-docstring", literal_equations, priority=100)
    data = SentencesOfData()
    app.connect("autodoc-process-docstring", data.keep, priority=200)
    app.connect("autodoc-process-docstring", data.restore, priority=900)
    app.connect("autodoc-process-signature", signature_of)
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))

"""Pages of the attention explorer, as the command line writes them."""

import base64

import numpy as np

from keras_attn_pipelines.cli import main
from tests.viz.test_explorer import facts_in


def explored(model, asked, folder):
    """The facts of the page for an input; its weights have been checked."""
    out = folder / "page.html"
    assert main(["explain", str(model), str(asked), "--out", str(out)]) == 0
    facts = facts_in(out.read_text(encoding="utf-8"))
    for view in facts["views"]:
        if "weights" in view and view["type"] != "shaded":
            values = np.frombuffer(base64.b64decode(view["weights"]["values"]), "uint8")
            rows = view.get("rows", view.get("steps"))
            places = len(view["columns"]) if "columns" in view else int(np.prod(view["grid"]))
            weights = view["weights"]["largest"] * (values / 255.0) ** 2
            sums = weights.reshape(view["layers"], view["heads"], len(rows), places).sum(axis=-1)
            view["sums"] = sums
    return facts

"""Executes notebooks and stores what their cells print and draw: `make notebooks`."""

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent / "notebooks"
NEEDS_A_TPU = {"train_on_tpu.ipynb"}
TIMES = re.compile(r"(?<=\d) - \d+m?s(?: - \d+[mu]?s/step)?")
LOG = re.compile(r"^(?:INFO|WARNING):tensorflow:.*\n", re.MULTILINE)
REPR = re.compile(r"<.* at 0x[0-9a-f]+>|PosixPath\(.*\)|<Figure size .*>|Drawing\(.*\)")


def execute(path: Path) -> None:
    """Runs a notebook in an empty folder, and replaces its outputs."""
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=900, resources=resources).execute()
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = joined([output for output in map(tidy, cell.outputs) if output])
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.write(notebook, path)


def tidy(output):
    """An output without warnings, names of objects and the seconds of each step; None if nothing is
    left of it."""
    if output.get("name") == "stderr":
        return None
    if "text" in output:
        output.text = TIMES.sub("", LOG.sub("", output.text))
    if "data" in output and REPR.fullmatch(output.data.get("text/plain", "")):
        del output.data["text/plain"]
    return output if output.get("text") or output.get("data") else None


def joined(outputs):
    """Outputs, with texts that follow each other as one."""
    whole = []
    for output in outputs:
        if "text" in output and whole and "text" in whole[-1]:
            whole[-1].text += output.text
        else:
            whole.append(output)
    return whole


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]) if sys.argv[1:] else sorted(FOLDER.glob("*.ipynb")):
        if path.name not in NEEDS_A_TPU:
            print(path)
            execute(path)

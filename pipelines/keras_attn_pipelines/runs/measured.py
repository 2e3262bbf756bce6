"""Evaluations of a run, kept in it and reused for the same weights, records and settings."""

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from keras_attn.untrusted import check_types, naming_damage, read_json
from keras_attn.version import __version__
from keras_attn.whole_file import digest_of, whole_file
from keras_attn_pipelines.data.fingerprint import fingerprint
from keras_attn_pipelines.experiment.evaluation import Evaluation
from keras_attn_pipelines.runs.run import MODEL_FILE, Run

EVALUATIONS_FILE = "evaluations.json"
MOST_KEPT = 32
"""Evaluations that a run keeps, the latest ones."""


def evaluation_key(
    run: Run, records: Sequence[Any], split: str, settings: Mapping[str, Any]
) -> str:
    """What an evaluation depends on: version, weights, records, split and settings."""
    weights = digest_of(run.folder / MODEL_FILE)
    content = [__version__, weights, fingerprint({split: records}), split, dict(settings)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def load_evaluation(run: Run, key: str) -> Evaluation | None:
    """An evaluation that was made before, without its answers; None if there is none."""
    stored = _stored(run).get(key)
    if stored is None:
        return None
    path = run.folder / EVALUATIONS_FILE
    with naming_damage(f"evaluations in {path}", "damaged ones (delete the file)"):
        check_types(stored, scores=dict, cells=dict, count=int, unit=str, note=str, errors=list)
        return Evaluation(**stored)


def save_evaluation(run: Run, key: str, evaluation: Evaluation) -> None:
    """Keeps an evaluation in the run, without its answers; on a read-only disk, does nothing."""
    stored = {**_stored(run), key: asdict(evaluation) | {"facts": {}}}
    latest = dict(list(stored.items())[-MOST_KEPT:])
    with contextlib.suppress(OSError), whole_file(run.folder / EVALUATIONS_FILE) as partial:
        partial.write_text(json.dumps(latest, indent=2) + "\n", encoding="utf-8")


def _stored(run) -> dict[str, Any]:
    path = run.folder / EVALUATIONS_FILE
    stored = read_json(path) if path.is_file() else {}
    return stored if isinstance(stored, dict) else {}

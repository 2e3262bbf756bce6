"""The metadata of a SavedModel exported from a run."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from keras_attn.contracts import CARD_FILE
from keras_attn.saved.versions import version_folder
from keras_attn.serving.declared import read_metadata
from keras_attn.serving.export import DIGESTS, MODEL_KEY, TOKENIZERS_FOLDER
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.stored import described, restored
from keras_attn_pipelines.runs.run import load_vocabularies


@dataclass(frozen=True)
class SavedDescription:
    """The metadata of a SavedModel exported from a run.

    Attributes:
        version: path of the version.
        metadata: dict. What `export_service` wrote, the experiment's parts included.
    """

    version: Path
    metadata: Mapping[str, Any]

    @classmethod
    def read(cls, folder) -> "SavedDescription":
        """Reads the newest version of a model, or one version.

        Raises:
            ValueError: no SavedModel there, one that was not exported from a run, one of an
                earlier version, or damaged metadata.
        """
        version = version_folder(folder)
        metadata = read_metadata(version)
        if MODEL_KEY not in metadata:
            raise ValueError(
                "Expected a run directory or a SavedModel exported from one. "
                f"Received: {version} without {MODEL_KEY} in its metadata"
            )
        described(version, metadata)
        types = {"parts": dict, MODEL_KEY: dict, "recipe": str, "beam_width": int, DIGESTS: dict}
        for key, kind in types.items():
            if not isinstance(metadata.get(key, kind()), kind):
                raise ValueError(
                    f"Expected {key} of type {kind.__name__} in the metadata of {version}. "
                    f"Received: {metadata[key]!r:.80}"
                )
        return cls(version, metadata)

    def experiment(self, recipe: Experiment | None = None) -> Experiment:
        """The experiment that it was trained with.

        Args:
            recipe: experiment of the user's recipe file, if it defines any parts.

        Raises:
            ValueError: an unknown part.
        """
        return restored(self.metadata["parts"], recipe, self.version)

    def vocabularies(self, experiment: Experiment) -> dict[str, Any]:
        """Its vocabularies by name, checked by the digests of the metadata, or of the model card.

        Raises:
            ValueError: one is missing, damaged or not the one that was exported.
        """
        digests = self.metadata.get(DIGESTS) or _digests_on_card(self.version)
        return load_vocabularies(self.version / TOKENIZERS_FOLDER, experiment, digests)


def _digests_on_card(version) -> dict[str, str] | None:
    """`digest_of_folder` of each vocabulary's folder, from the SHA-256 of its files on the model
    card, which has had them for longer than the metadata; None if it has none."""
    card = version / CARD_FILE
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    _, _, section = text.rpartition("\n## Files\n")
    files: dict[str, list[tuple[PurePosixPath, str]]] = {}
    for digest, name in re.findall(r"^([0-9a-f]{64})  (.+)$", section, re.MULTILINE):
        path = PurePosixPath(name)
        if path.is_relative_to(TOKENIZERS_FOLDER) and len(path.parts) > 2:
            folder, *inside = path.relative_to(TOKENIZERS_FOLDER).parts
            files.setdefault(folder, []).append((PurePosixPath(*inside), digest))
    digests = {}
    for folder, rows in files.items():
        lines = "".join(f"{digest}  {path}\n" for path, digest in sorted(rows))
        digests[folder] = hashlib.sha256(lines.encode()).hexdigest()
    return digests or None

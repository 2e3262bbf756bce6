"""What a SavedModel that was exported from a run says of itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_attn.serving.export import MODEL_KEY, TOKENIZERS_FOLDER, read_metadata
from pipelines.captioning import CaptioningRecipe
from pipelines.recipe import Recipe
from pipelines.run import load_tokenizers, made_recipe
from pipelines.saved import version_folder


@dataclass(frozen=True)
class SavedDescription:
    """What a SavedModel that was exported from a run says of itself.

    Attributes:
        version: path of the version.
        kind: of the recipe it was trained with.
        metadata: dict. What `export_service` wrote, choices of the recipe among it.
    """

    version: Path
    kind: str
    metadata: Mapping[str, Any]

    @classmethod
    def read(cls, folder) -> "SavedDescription":
        """Reads the newest version of a model, or one version.

        Raises:
            ValueError: no SavedModel there, one that was not exported from a run, or damaged
                metadata.
        """
        version = version_folder(folder)
        metadata = read_metadata(version)
        if missing := [key for key in ("values", MODEL_KEY) if key not in metadata]:
            raise ValueError(
                "Expected a run directory or a SavedModel exported from one. "
                f"Received: {version} without {missing} in its metadata"
            )
        kinds = {"values": dict, MODEL_KEY: dict, "kind": str, "beam_width": int}
        for key, kind in kinds.items():
            if not isinstance(metadata.get(key, kind()), kind):
                raise ValueError(
                    f"Expected {key} to be of kind {kind.__name__} in the metadata of {version}. "
                    f"Received: {metadata[key]!r:.80}"
                )
        return cls(version, metadata.get("kind", CaptioningRecipe.kind), metadata)

    def recipe(self) -> Recipe:
        """The choices that every recipe of its kind has.

        Raises:
            ValueError: a kind that is not known.
        """
        return made_recipe(self.kind, self.metadata["values"])

    def tokenizers(self) -> dict[str, Any]:
        """Its vocabularies by their names.

        Raises:
            ValueError: one is missing or damaged, or an unknown kind.
        """
        return load_tokenizers(self.version / TOKENIZERS_FOLDER, self.kind)

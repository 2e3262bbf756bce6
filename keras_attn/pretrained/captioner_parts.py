"""What the reader of a kind of captioner returns."""

from typing import Any, NamedTuple

import numpy as np

from keras_attn.images.picture_format import PictureFormat
from keras_attn.models.transformer.transformer_config import TransformerConfig
from keras_attn.models.vision_transformer.vision_transformer_config import VisionTransformerConfig
from keras_attn.pretrained.tensors import PlannedTensor
from keras_attn.pretrained.translator_vocabulary import SILENT


class CaptionerParts(NamedTuple):
    """A captioner that can be built, and what its tensors are.

    Attributes:
        vision: `VisionTransformerConfig`.
        decoder: `TransformerConfig`.
        pictures: `PictureFormat`.
        tokenizer: of its captions.
        ids: `SpecialFirst`.
        tensors: name -> array, as `plan` expects them.
        plan: list of `PlannedTensor`, under the names of `encoder_weights` and `decoder_weights`.
    """

    vision: VisionTransformerConfig
    decoder: TransformerConfig
    pictures: PictureFormat
    tokenizer: Any
    ids: "SpecialFirst"
    tensors: dict[str, np.ndarray]
    plan: list[PlannedTensor]


class SpecialFirst(NamedTuple):
    """Ids of a checkpoint in this project's order, the special ones first.

    Attributes:
        rows: int (V,). The checkpoint's id of each id.
        silent: special ids here that stand for the id of a later one, and are never said.
    """

    rows: np.ndarray
    silent: list[int]

    @classmethod
    def of(cls, size, pad, unknown, start, end):
        """The order of `size` ids, of which four have roles; one id may have several."""
        special = [pad, unknown, start, end]
        rest = [row for row in range(size) if row not in special]
        silent = [place for place, row in enumerate(special) if row in special[place + 1 :]]
        return cls(np.array([*special, *rest]), silent)

    def bias(self, values=0.0):
        """Biases of the logits, of the checkpoint's ids, with silent ids."""
        bias = np.zeros(len(self.rows), "float32") + values
        bias[self.silent] = SILENT
        return bias

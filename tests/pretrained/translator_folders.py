"""Small translators of transformers, and what it answers."""

import re
from pathlib import Path

import numpy as np

from keras_attn.pretrained.translator_vocabulary import SILENT

GOLDEN = Path(__file__).parents[1] / "golden" / "translators"
LANGUAGES = {
    "m2m": ("en", "de"),
    "nllb": ("eng_Latn", "deu_Latn"),
    "mbart50": ("en_XX", "de_DE"),
}
"""Languages of the multilingual ones."""
NATIVE = ("marian_npz", "marian_npz_pre")
"""Marian's own files, and what a twin of Marian answers."""
SPELLED = re.compile("</?s>|<pad>|<unk>|<extra_id")
CASES = sorted({path.parent.name for path in GOLDEN.glob("*/answers.npz")} - {"mbart", *NATIVE})


def answers_in(case) -> dict[str, np.ndarray]:
    """The arrays of a case."""
    with np.load(GOLDEN / case / "answers.npz") as arrays:
        return dict(arrays)


class Golden:
    """A translator's folder, and its answers with ids as they are here.

    Args:
        case: name of the folder.
        translator: `Translator`.
    """

    def __init__(self, case, translator):
        self.arrays = answers_in(case)
        self.translator = translator
        pads = self.arrays["source_mask"] == 0
        self.sources = np.where(pads, 0, _known(translator.source_rows, self.arrays["source_ids"]))
        # transformers takes a special token that a text spells for the token itself.
        texts = self.arrays["sources"]
        self.plain = np.array([not SPELLED.search(str(text)) for text in texts])
        given = self.arrays["decoder_input_ids"]
        length = self.arrays["encoder_last_hidden"].shape[1]
        self.source = self.sources[: len(given), :length]
        tokens = _known(translator.rows, given)
        tokens[given == translator.rows[0]] = 0
        tokens[:, 0] = 2
        self.tokens = tokens

    @property
    def normalizes_anew(self):
        """Whether what begins an answer has no part in the probabilities."""
        return float(self.translator.model.decoder.output_bias[2]) < SILENT / 2

    def answers(self, name):
        """Ids of generated answers (B, n, T) as here, up to their ends, and scores (B, n)."""
        ids, scores = self.arrays[f"{name}/ids"], self.arrays[f"{name}/scores"]
        if ids.ndim == 2 and not self.normalizes_anew:
            # A greedy search of transformers normalizes after it masks; `decode` before.
            scores = self.arrays[f"{name}/unmasked_scores"]
        ids = ids if ids.ndim == 3 else ids[:, None]
        tokens = _known(self.translator.rows, ids)[..., 1:]
        before = np.cumsum(tokens == 3, axis=-1) - (tokens == 3)
        return np.where(before > 0, 0, tokens), scores.reshape(ids.shape[:2])


def _known(rows, ids):
    """Ids of the checkpoint as they are here; of one that has two, the first that text has."""
    places = np.zeros(rows.max() + 1, "int32")
    for place in reversed(range(len(rows))):
        places[rows[place]] = place
    for place in (1, 3):
        places[rows[place]] = place
    return places[ids]

"""Small captioners of transformers, and what it answers."""

from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).parents[1] / "golden" / "captioners"
CASES = sorted(path.parent.name for path in GOLDEN.glob("*/answers.npz"))


class Golden:
    """A captioner's folder, and its answers with ids as they are here.

    Args:
        case: name of the folder.
        captioner: `PretrainedCaptioner`.
    """

    def __init__(self, case, captioner):
        with np.load(GOLDEN / case / "answers.npz") as arrays:
            self.arrays = dict(arrays)
        self.captioner = captioner
        rows = captioner.rows
        self.places = np.zeros(rows.max() + 1, "int32")
        self.places[rows[::-1]] = np.arange(len(rows))[::-1]
        self.end, self.start = int(rows[3]), int(rows[2])
        tokens = self.places[self.arrays["decoder_input_ids"]]
        later = np.cumsum(self.arrays["decoder_input_ids"][:, 1:] == self.end, axis=1) > 0
        tokens[:, 1:][later] = 0
        tokens[:, 0] = 2
        self.tokens = tokens

    def answers(self, name, steps):
        """Ids of generated answers (B, n, steps) as here, up to their ends, and scores (B, n)."""
        ids, scores = self.arrays[f"{name}/ids"], self.arrays[f"{name}/scores"]
        ids, scores = (ids[:, None], scores[:, None]) if ids.ndim == 2 else (ids, scores)
        said = ids[..., 1:]
        tokens = np.where(said == self.end, 3, self.places[said])
        ended = np.cumsum(said == self.end, axis=-1) - (said == self.end) > 0
        tokens[ended] = 0
        return np.pad(tokens, ((0, 0), (0, 0), (0, steps - tokens.shape[-1]))), scores

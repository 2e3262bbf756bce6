"""What can be asked of a captioner, wherever it runs; needs no TensorFlow."""

import abc
from collections.abc import Sequence

from keras_attn.contracts import CAPTION, IMAGE


class CaptionRequests(abc.ABC):
    """Abstract: asks in batches, and takes the answers apart; a subclass answers one batch."""

    def caption(self, pictures: Sequence[bytes], batch: int = 32) -> list[dict]:
        """Answers of `serving_default`, one dict of arrays a picture."""
        return self._ask("serving_default", {IMAGE: pictures}, batch)

    def explain(self, pictures: Sequence[bytes], batch: int = 32) -> list[dict]:
        """Answers of `explain`, one dict of arrays a picture."""
        return self._ask("explain", {IMAGE: pictures}, batch)

    def score(
        self, pictures: Sequence[bytes], captions: Sequence[str], batch: int = 32
    ) -> list[dict]:
        """Answers of `score`, one dict of arrays a pair of picture and caption.

        Raises:
            ValueError: not as many captions as pictures.
        """
        if len(pictures) != len(captions):
            raise ValueError(
                f"Expected as many captions as pictures ({len(pictures)}). "
                f"Received: {len(captions)} captions"
            )
        return self._ask("score", {IMAGE: pictures, CAPTION: captions}, batch)

    def _ask(self, signature, inputs, batch):
        answers = []
        for start in range(0, len(inputs[IMAGE]), batch):
            chunk = {key: list(values[start : start + batch]) for key, values in inputs.items()}
            arrays = self._answer(signature, chunk)
            answers += [
                {key: value[row] for key, value in arrays.items()}
                for row in range(len(chunk[IMAGE]))
            ]
        return answers

    @abc.abstractmethod
    def _answer(self, signature, chunk):
        """Answers one batch: lists of pictures (bytes) and captions (str) to arrays (B, ...)."""

"""What can be asked of a service, wherever it runs; needs no TensorFlow."""

import abc
from collections.abc import Sequence

from keras_attn.contracts import CAPTION, IMAGE, SOURCE, TARGET


class Requests(abc.ABC):
    """Abstract: asks in batches, and takes the answers apart; a subclass answers one batch."""

    def _ask(self, signature, inputs, batch):
        if batch < 1:
            raise ValueError(f"Expected batch >= 1. Received: batch={batch}")
        for key, values in inputs.items():
            if isinstance(values, str | bytes):
                raise ValueError(f"Expected a list for {key}. Received: {values!r:.80}")
        answers = []
        count = len(next(iter(inputs.values())))
        for start in range(0, count, batch):
            chunk = {key: list(values[start : start + batch]) for key, values in inputs.items()}
            arrays = self._answer(signature, chunk)
            answers += [
                {key: value[row] for key, value in arrays.items()}
                for row in range(min(batch, count - start))
            ]
        return answers

    @abc.abstractmethod
    def _answer(self, signature, chunk):
        """Answers one batch: lists of bytes or str to arrays (B, ...)."""


class CaptionRequests(Requests):
    """Abstract: what can be asked of a captioner."""

    def caption(self, pictures: Sequence[bytes], batch: int = 32) -> list[dict]:
        """Answers of `serving_default`, one dict of arrays a picture."""
        return self._ask("serving_default", {IMAGE: pictures}, batch)

    def explain(self, pictures: Sequence[bytes], batch: int = 32) -> list[dict]:
        """Answers of `explain`, one dict of arrays a picture."""
        return self._ask("explain", {IMAGE: pictures}, batch)

    def attention(self, pictures: Sequence[bytes], batch: int = 32) -> list[dict]:
        """Answers of `attention`, one dict of arrays a picture; of Transformers."""
        return self._ask("attention", {IMAGE: pictures}, batch)

    def score(
        self, pictures: Sequence[bytes], captions: Sequence[str], batch: int = 32
    ) -> list[dict]:
        """Answers of `score`, one dict of arrays a pair of picture and caption.

        Raises:
            ValueError: not as many captions as pictures.
        """
        _check_counts("captions", captions, "pictures", pictures)
        return self._ask("score", {IMAGE: pictures, CAPTION: captions}, batch)


class ClassifierRequests(Requests):
    """Abstract: what can be asked of a classifier."""

    def classify(self, pictures: Sequence[bytes], batch: int = 32) -> list[dict]:
        """Answers of `serving_default`, one dict of arrays a picture."""
        return self._ask("serving_default", {IMAGE: pictures}, batch)

    def explain(self, pictures: Sequence[bytes], batch: int = 32) -> list[dict]:
        """Answers of `explain`, one dict of arrays a picture."""
        return self._ask("explain", {IMAGE: pictures}, batch)

    def attention(self, pictures: Sequence[bytes], batch: int = 32) -> list[dict]:
        """Answers of `attention`, one dict of arrays a picture."""
        return self._ask("attention", {IMAGE: pictures}, batch)


class TextRequests(Requests):
    """Abstract: what can be asked of a model from text to text."""

    def answer(self, sources: Sequence[str | bytes], batch: int = 32) -> list[dict]:
        """Answers of `serving_default`, one dict of arrays a source."""
        return self._ask("serving_default", {SOURCE: sources}, batch)

    def explain(self, sources: Sequence[str | bytes], batch: int = 32) -> list[dict]:
        """Answers of `explain`, one dict of arrays a source; those of one batch are equally long,
        with '' and 0 after the shorter ones."""
        return self._ask("explain", {SOURCE: sources}, batch)

    def score(
        self, sources: Sequence[str | bytes], targets: Sequence[str | bytes], batch: int = 32
    ) -> list[dict]:
        """Answers of `score`, one dict of arrays a pair of source and target.

        Raises:
            ValueError: not as many targets as sources.
        """
        _check_counts("targets", targets, "sources", sources)
        return self._ask("score", {SOURCE: sources, TARGET: targets}, batch)

    def attention(self, sources: Sequence[str | bytes], batch: int = 32) -> list[dict]:
        """Answers of `attention`, one dict of arrays a source, padded as those of `explain`."""
        return self._ask("attention", {SOURCE: sources}, batch)


def _check_counts(name, values, of, items):
    if len(values) != len(items):
        raise ValueError(
            f"Expected as many {name} as {of} ({len(items)}). Received: {len(values)} {name}"
        )

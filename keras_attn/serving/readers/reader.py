"""What every reader of a service can do."""

import abc
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from keras_attn.lazy_tensorflow import tf
from keras_attn.viz.declared.notes import Note


class Read(NamedTuple):
    """What was read of B requests.

    Attributes:
        features: dict of what the model is given, by batch key; blank where nothing could be read.
        reasons: string (B,), why a request could not be read, or ''.
        counts: int32 (B,), size of each request, in pieces, words or pictures; 0 where nothing
            could be read.
        shown: dict of what an answer repeats of the request, by answer key.
        pieces: string (B, S), what the places of the features are called, with `WORD_MARK` before
            each word, '' for padding; None for pictures.
        details: what a writer needs besides.
    """

    features: Mapping[str, Any]
    reasons: Any
    counts: Any
    shown: Mapping[str, Any]
    pieces: Any = None
    details: Any = None

    @property
    def readable(self):
        """bool (B,)."""
        return self.reasons == ""

    def only_readable(self, values):
        """Values (B, ...), 0 or '' where nothing could be read."""
        readable = tf.reshape(self.readable, (-1,) + (1,) * (len(values.shape) - 1))
        return tf.where(readable, values, tf.zeros_like(values))


class Reader(abc.ABC):
    """Abstract: strings of requests to a model's features, with an error for each bad row.

    Attributes:
        shape: of each input, strings, None for the batch.
        notes: what answers are to be read with; their outputs are among `Read.shown`.
    """

    shape: ClassVar[tuple[int | None, ...]] = (None,)
    notes: ClassVar[tuple[Note, ...]] = ()

    @property
    @abc.abstractmethod
    def examples(self) -> dict[str, Any]:
        """A request that can be read: bytes, or an array of them, by the name of each input."""

    @abc.abstractmethod
    def read(self, *inputs: Any) -> Read:
        """Reads strings (B, ...), one tensor for each of `examples`, in their order."""

    @abc.abstractmethod
    def metadata(self) -> dict[str, Any]:
        """Description of the reader, of JSON types."""

"""Services that answer with labels: of pictures, texts and questions."""

from collections.abc import Callable, Mapping
from typing import Any

from keras_attn.contracts import ERROR, LABEL, SCORE
from keras_attn.lazy_tensorflow import tf
from keras_attn.serving.empty_batch import accepts_empty_batch
from keras_attn.serving.readers.reasons import first_reason
from keras_attn.serving.service import Service, inputs_of
from keras_attn.serving.writers.labels import LabelWriter

SignatureFunction = Callable[[Mapping[str, Any]], tuple[Any, Mapping[str, Any]]]
"""Function from a reader's features to logits (B, C) and to further outputs, tensors (B, ...) by
answer key."""

SIGNATURES = ("serving_default", "explain", "attention")


class LabelService(Service):
    """The service of a classifier: of pictures, texts, or questions about stories.

    Args:
        model: classifier with `num_classes`.
        reader: `Reader`.
        writer: `LabelWriter`, whose labels are the classes of the model.
        signature_functions: dict from signature name, "serving_default", "explain" or "attention",
            to a `SignatureFunction`; its further outputs are set to 0 in rows that could not be
            read.
        vocabularies: dict of the vocabularies of reader and writer, by the names of their folders.
        views: declared views.
        notes: further metadata of JSON types.

    Raises:
        ValueError: not as many labels as classes; no look for "serving_default", or one of another
            name; and, when it is asked, logits of another shape.
    """

    def __init__(
        self,
        model,
        reader,
        writer: LabelWriter,
        signature_functions: Mapping[str, SignatureFunction],
        vocabularies: Mapping[str, Any],
        views=(),
        notes: Mapping[str, Any] | None = None,
    ):
        super().__init__(model, vocabularies, (*views, *reader.notes))
        if writer.labels.vocabulary_size != model.num_classes:
            raise ValueError(
                f"Expected {model.num_classes} labels, one per class of the model. "
                f"Received: {writer.labels.vocabulary_size}"
            )
        unknown = sorted(set(signature_functions) - set(SIGNATURES))
        if "serving_default" not in signature_functions or unknown:
            received = ", ".join(unknown or signature_functions)
            raise ValueError(
                f"Expected signature_functions for {', '.join(SIGNATURES)}, the first at least. "
                f"Received: {received or 'none'}"
            )
        self.reader, self.writer = reader, writer
        self.signature_functions = dict(signature_functions)
        self.notes = dict(notes or {})

    @property
    def inputs(self):
        inputs = inputs_of(self.reader, LABEL)
        return {**inputs, LABEL: (inputs[LABEL][0], self.writer.labels.names[0].encode())}

    def functions(self):
        methods = {"serving_default": self.answer, "explain": self.explain}
        methods["attention"] = self.attention
        examples = list(self.reader.examples)
        functions = {name: (methods[name], examples) for name in self.signature_functions}
        return {**functions, "score": (self.score, [*examples, LABEL])}

    def metadata(self):
        return {"n_best": self.writer.n_best, **self.reader.metadata(), **self.notes}

    @accepts_empty_batch
    def answer(self, *inputs):
        """Answers with labels.

        Args:
            *inputs: strings (B, ...), those of the reader.

        Returns:
            dict: LABELS string (B, n), LABEL_SCORES float32 (B, n), ERROR string (B,). A request
            that cannot be read has empty labels, scores of 0 and its own reason under ERROR; the
            others are unaffected. Outputs of the reader's notes are added. An empty batch is
            answered with empty arrays.
        """
        read = self.reader.read(*inputs)
        noted = {note.output: read.shown[note.output] for note in self.reader.notes}
        return {**self._labeled("serving_default", read), **noted}

    @accepts_empty_batch
    def explain(self, *inputs):
        """Answers with labels, and with what the model looked at, see `answer`."""
        read = self.reader.read(*inputs)
        return {**self._labeled("explain", read), **read.shown}

    @accepts_empty_batch
    def attention(self, *inputs):
        """Answers with labels, and with every attention weight, see `answer`."""
        read = self.reader.read(*inputs)
        return {**self._labeled("attention", read), **read.shown}

    @accepts_empty_batch
    def score(self, *inputs):
        """Log-probability of given labels, given the requests.

        Args:
            *inputs: as of `answer`, and last string (B,), one label a request.

        Returns:
            dict: SCORE float32 (B,), ERROR string (B,). A request that cannot be read, or a label
            that the model does not have, has a score of 0 and its error.

        Raises:
            InvalidArgumentError: different numbers of labels and requests.
        """
        *given, labels = inputs
        count = tf.shape(given[0])[0]
        tf.debugging.assert_equal(count, tf.shape(labels)[0], "Expected as many labels as requests")
        read = self.reader.read(*given)
        logits, _ = self._logits("serving_default", read)
        scores, is_label = self.writer.score(logits, labels)
        unknown = tf.where(is_label, "", "a label that the model does not have")
        reasons = first_reason(read.reasons, unknown)
        return {SCORE: tf.where(reasons == "", scores, 0.0), ERROR: reasons}

    def _labeled(self, signature, read):
        logits, outputs = self._logits(signature, read)
        return {
            **self.writer.write(logits, read.readable),
            **{key: read.only_readable(value) for key, value in outputs.items()},
            ERROR: read.reasons,
        }

    def _logits(self, signature, read):
        """Logits (B, C) and further outputs of a signature's function."""
        logits, outputs = self.signature_functions[signature](read.features)
        if logits.shape.rank != 2 or logits.shape[1] not in (self.model.num_classes, None):
            raise ValueError(
                f"Expected logits (B, {self.model.num_classes}) for {signature}. "
                f"Received: shape {logits.shape}"
            )
        same = tf.debugging.assert_equal(
            tf.shape(logits)[0], tf.shape(read.reasons)[0], "Expected as many logits as requests"
        )
        with tf.control_dependencies([same]):
            return tf.identity(logits), outputs

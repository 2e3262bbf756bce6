"""The service of a text classifier: strings in, labels out."""

import tensorflow as tf

from keras_attn.contracts import (
    ERROR,
    LABEL_SCORES,
    LABELS,
    SOURCE,
    SOURCE_PIECES,
    WEIGHTS,
)
from keras_attn.serving.answers import pieces_of
from keras_attn.serving.empty_batch import accepts_empty_batch
from keras_attn.serving.label_service import best_labels, check_labels
from keras_attn.serving.sources import read_sources


class TextLabelService(tf.Module):
    """A `TextClassifier` with its tokenizer and labels.

    Args:
        model: `TextClassifier`.
        tokenizer: `Tokenizer`.
        labels: `LabelTable` of its classes.
        max_source: int. Maximum length of a text in pieces, end included.
        n_best: int > 0. Number of labels returned, most probable first; all of them if there are
            fewer.

    Raises:
        ValueError: n_best < 1, or not as many labels as classes.
    """

    def __init__(self, model, tokenizer, labels, max_source, n_best=1):
        super().__init__()
        check_labels(model, labels, n_best)
        self.model, self.tokenizer, self.labels = model, tokenizer, labels
        self.max_source = max_source
        self.n_best = min(n_best, labels.vocabulary_size)

    def classify(self, source):
        """Answers with labels.

        Args:
            source: string (B,), UTF-8.

        Returns:
            dict: LABELS string (B, n), LABEL_SCORES float32 (B, n), ERROR string (B,). A text that
            is empty, not UTF-8 or too long has empty labels, scores of 0 and its own reason under
            ERROR; the others are unaffected. An empty batch is answered with empty arrays.
        """
        answer = self.explain(source)
        return {key: answer[key] for key in (LABELS, LABEL_SCORES, ERROR)}

    @accepts_empty_batch
    def explain(self, source):
        """Answers with labels, and how much of each piece is in the pooled vector.

        Args:
            source: string (B,), UTF-8.

        Returns:
            dict as of `classify`, with SOURCE_PIECES string (B, S) and WEIGHTS float32 (B, S).
        """
        tokens, reasons = read_sources(source, self.tokenizer, self.max_source)
        logits, weights = self.model.pooled_weights(tokens)
        readable = reasons == ""
        return {
            **best_labels(logits, self.labels, self.n_best, readable),
            ERROR: reasons,
            SOURCE_PIECES: pieces_of(tokens, self.tokenizer, readable),
            WEIGHTS: tf.where(readable[:, None], weights, 0.0),
        }

    def signatures(self):
        """The exported signatures: dict from name to a function and its `TensorSpec`s."""
        source = [tf.TensorSpec((None,), tf.string, name=SOURCE)]
        return {"serving_default": (self.classify, source), "explain": (self.explain, source)}

    def requests(self, count):
        """Warm-up requests: dict from signature to inputs, `count` of each."""
        return {name: {SOURCE: [b"a"] * count} for name in self.signatures()}

    def tokenizers(self):
        """dict from the name of its folder to the tokenizer and the labels."""
        return {"tokenizer": self.tokenizer, "labels": self.labels}

    def metadata(self):
        """Description of the service without its model, of JSON types."""
        return {"n_best": self.n_best, "max_source": self.max_source}

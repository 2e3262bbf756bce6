"""What tokenizers of SentencePiece's pieces have in common, whoever numbers the pieces."""

import abc
import json
import uuid

import sentencepiece

from keras_attn.lazy_tensorflow import tf, tf_text
from keras_attn.native_log import hidden_native_log
from keras_attn.text.graph_object import HAS_GRAPHS
from keras_attn.text.piece_tokenizer import SETTINGS_FILE, PieceTokenizer
from keras_attn.whole_file import made_folder, whole_file

MODEL_FILE = "sentencepiece.model"


class SentencePieceTokenizer(PieceTokenizer):
    """Abstract: text to ids of the pieces of a SentencePiece model, and back.

    Attributes:
        unit: plural noun for the pieces.
        model: bytes. The SentencePiece model.
        vocabulary_size: int. Number of ids.
    """

    def __init__(self, model: bytes, vocabulary_size: int | None = None):
        super().__init__()
        with hidden_native_log():
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.model = model
        self.vocabulary_size = vocabulary_size or self._processor.vocab_size()
        self._made = self._make() if HAS_GRAPHS else None

    @property
    @abc.abstractmethod
    def graph_type(self):
        """Type of the pieces of the model in TensorFlow's graphs, tf.int32 or tf.string."""

    def save(self, folder) -> None:
        """Writes the model and the settings into a folder."""
        folder = made_folder(folder)
        with whole_file(folder / MODEL_FILE) as partial:
            partial.write_bytes(self.model)
        with whole_file(folder / SETTINGS_FILE) as partial:
            partial.write_text(json.dumps(self.settings()), encoding="utf-8")

    def _make(self):
        """The model in TensorFlow's graphs."""
        with hidden_native_log(), tf.init_scope():
            made = tf_text.SentencepieceTokenizer(self.model, out_type=self.graph_type)
            _keep_resource(made, self.model)
        return made

    @property
    def in_graphs(self):
        """The model in TensorFlow's graphs, made once."""
        if self._made is None:
            self._made = self._make()
        return self._made


def _keep_resource(tokenizer, model):
    """Gives the model's resource a name of its own, so that it lives as long as the process.

    The one that tensorflow-text makes belongs to a cached kernel and is gone when TensorFlow clears
    that cache, which `tf.random.set_seed` does. Without a name of their own, two tokenizers in one
    SavedModel, or in two that one process loads, would both be the one that was loaded first.
    """
    name = f"keras_attn_tokenizer_{uuid.uuid4().hex}"
    from tensorflow_text.python.ops import sentencepiece_tokenizer

    make = sentencepiece_tokenizer.gen_sentencepiece_tokenizer.sentencepiece_op
    resource = tokenizer._model_resource
    resource._create_resource = lambda: make(model=model, shared_name=name)
    resource._resource_handle = resource._create_resource()

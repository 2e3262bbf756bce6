"""Inference with exported models; needs TensorFlow, but none of the model's code."""

from tensorflow.core.protobuf import saved_model_pb2

from keras_attn.contracts import CROP, ERROR, IMAGE, LABELS, SOURCE, TAGS
from keras_attn.viz.alignment import Alignment, alignment_figure
from keras_attn.viz.every_head import EveryHead
from keras_attn.viz.parsed_tree import ParsedTree, parsed_tree_figure
from keras_attn_pipelines.saved.declared import SavedDeclared, declares_pictures
from keras_attn_pipelines.saved.pictures import (
    SavedCaptioner,
    SavedClassifier,
    SavedSpatialTransformer,
    explanation_of,
)
from keras_attn_pipelines.saved.saved_model import (
    Saved,
    check_kind,
    version_folder,
    whole_saved_model,
    write_figure,
)
from keras_attn_pipelines.saved.texts import SavedTextClassifier, SavedTexts, encoded

__all__ = [
    "SavedCaptioner",
    "SavedClassifier",
    "SavedSpatialTransformer",
    "SavedTextClassifier",
    "SavedTextModel",
    "explanation_of",
    "saved_model",
    "version_folder",
    "whole_saved_model",
]


class SavedTextModel(SavedTexts):
    """An exported model from text to text."""

    def score_pair(self, first, second):
        """See `Saved`: texts."""
        return self.ask("score", source=[encoded(first)], target=[encoded(second)])[0]

    def explained(self, asked, out, heads=None, word=None, layer=None):
        """See `Saved`: a text; PNG or SVG."""
        check_kind(out, (".png", ".svg"))
        if layer is not None and word is None:
            raise ValueError(f"Expected a word with a layer. Received: layer={layer} alone")
        if heads is not None and word is not None:
            raise ValueError(f"Expected heads or a word. Received: heads={heads!r}, word={word!r}")
        signature = "explain" if heads is None and word is None else "attention"
        answer = self.ask(signature, source=[encoded(asked)])[0]
        if error := answer[ERROR].decode():
            raise ValueError(f"{asked!r:.80}: {error}")
        if heads is None and word is None:
            explained, figure = _figure_of(answer)
        else:
            explained = EveryHead.of(answer)
            figure = (
                explained.word_figure(word, layer) if heads is None else explained.figure(heads)
            )
        write_figure(figure, out)
        return explained.text


def saved_model(folder) -> Saved:
    """The SavedModel in a folder, of whichever kind it is.

    Raises:
        ValueError: no SavedModel there, or one that takes neither image nor source.
    """
    version = version_folder(folder)
    inputs, outputs = _signature_names(version)
    if declares_pictures(version):
        return SavedDeclared(folder, inputs, outputs)
    if IMAGE in inputs and CROP in outputs:
        return SavedSpatialTransformer(folder)
    if IMAGE in inputs:
        return SavedClassifier(folder) if LABELS in outputs else SavedCaptioner(folder)
    if SOURCE in inputs:
        return SavedTextClassifier(folder) if LABELS in outputs else SavedTextModel(folder)
    raise ValueError(f"Expected a SavedModel that takes {IMAGE} or {SOURCE}. Received: {folder}")


def _figure_of(answer):
    """What an answer of `explain` shows, and its figure; a parser's answer has tags."""
    if TAGS in answer:
        tree = ParsedTree.of(answer)
        return tree, parsed_tree_figure(tree)
    alignment = Alignment.of(answer)
    return alignment, alignment_figure(alignment)


def _signature_names(version):
    """Names of the inputs and the outputs of `serving_default`, read without loading the model."""
    proto = saved_model_pb2.SavedModel()
    with whole_saved_model(version):
        proto.ParseFromString((version / "saved_model.pb").read_bytes())
    signatures = [graph.signature_def["serving_default"] for graph in proto.meta_graphs]
    inputs = {key for shown in signatures for key in shown.inputs}
    return inputs, {key for shown in signatures for key in shown.outputs}

"""Loads exported models of any kind."""

import sys

from tensorflow.core.protobuf import saved_model_pb2

from keras_attn.contracts import CROP, FACTS, IMAGE, LABELS, QUESTION, SEQUENCE, SOURCE, STORY
from keras_attn.escaping import escape_terminal
from keras_attn.saved.bundled import model_folder
from keras_attn.saved.declared import SavedDeclared, declares_pictures
from keras_attn.saved.facts import SavedFacts
from keras_attn.saved.pictures import SavedCaptioner, SavedClassifier, SavedSpatialTransformer
from keras_attn.saved.questions import SavedQuestions
from keras_attn.saved.saved_model import Saved, version_folder, whole_saved_model
from keras_attn.saved.sequences import SavedSequences
from keras_attn.saved.texts import SavedTextClassifier, SavedTextModel


def load(folder) -> Saved:
    """Loads a SavedModel that was exported by this project, of whichever kind it is.

    Writes the model's terms of use to standard error, if it has any.

    Args:
        folder: path of the model's folder (its highest version is taken) or of one version, or the
            name of a model in `saved_models` of a checkout.

    Returns:
        `Saved`, with `predict`, `explain` and `score`.

    Raises:
        ValueError: no SavedModel there, or one that takes none of image, source, sequence,
            facts, and story with question.

    Example:
        `keras_attn.load("flickr8k_captioner").predict(["photo.jpg"])`
    """
    saved = _loaded(model_folder(folder))
    if saved.terms:
        version = saved.folder.resolve()
        name = version.parent.name if version.name.isdecimal() else version.name
        print(escape_terminal(f"Terms of use of {name}: {saved.terms}"), file=sys.stderr)
    return saved


def _loaded(folder):
    version = version_folder(folder)
    inputs, outputs = _signature_names(version)
    if declares_pictures(version):
        return SavedDeclared(folder, inputs, outputs)
    if {STORY, QUESTION} == inputs:
        return SavedQuestions(folder)
    if {FACTS} == inputs:
        return SavedFacts(folder)
    if {SEQUENCE} == inputs:
        return SavedSequences(folder)
    if IMAGE in inputs and CROP in outputs:
        return SavedSpatialTransformer(folder)
    if IMAGE in inputs:
        return SavedClassifier(folder) if LABELS in outputs else SavedCaptioner(folder)
    if SOURCE in inputs:
        return SavedTextClassifier(folder) if LABELS in outputs else SavedTextModel(folder)
    raise ValueError(
        f"Expected a SavedModel that takes {IMAGE}, {SOURCE}, {SEQUENCE} or {FACTS}, or {STORY} "
        f"and {QUESTION}. Received: {folder}"
    )


def _signature_names(version):
    """Names of the inputs and the outputs of `serving_default`, read without loading the model."""
    proto = saved_model_pb2.SavedModel()
    with whole_saved_model(version):
        proto.ParseFromString((version / "saved_model.pb").read_bytes())
    signatures = [graph.signature_def["serving_default"] for graph in proto.meta_graphs]
    inputs = {key for shown in signatures for key in shown.inputs}
    return inputs, {key for shown in signatures for key in shown.outputs}

"""Exports services as SavedModels for TF Serving, with a model card beside them."""

import contextlib
import json
import os
import shutil
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_attn.contracts import CARD_FILE, METADATA_FILE
from keras_attn.escaping import escape_html, escape_markdown
from keras_attn.lazy_tensorflow import tf
from keras_attn.serving.declared import VIEWS, check_views
from keras_attn.serving.eight_bits import EightBitProducts
from keras_attn.serving.precision import precision_of
from keras_attn.serving.smaller_graph import read_proto, shrink_graph
from keras_attn.serving.stored_weights import StoredWeights
from keras_attn.serving.warm_up import WARM_UP_BATCHES, write_warm_up
from keras_attn.version import __version__
from keras_attn.whole_file import (
    check_folder,
    digest_of,
    digest_of_folder,
    is_legacy_name,
    made_folder,
    move_folder,
    whole_file,
    whole_folder,
)

TOKENIZERS_FOLDER = Path("assets.extra")
MODEL_KEY = "model"
STORAGE = "storage"
"""Key of the metadata: how weights are stored."""
PRODUCTS = "products"
"""Key of the metadata: "int8" if layers multiply in 8 bits, else "float32"."""
JIT = "jit"
"""Key of the metadata, and attribute of services: whether XLA compiles searches."""
DIGESTS = "digests"
"""Key of the metadata: SHA-256 of each tokenizer's folder, by name."""
PYTHON_OPS = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
PACKAGES = ("keras", "tensorflow-text", "sentencepiece")


def next_version(folder) -> int:
    """The next version number in a model's folder, from 1."""
    folder = Path(folder)
    entries = folder.iterdir() if folder.is_dir() else ()
    return max((int(entry.name) for entry in entries if entry.name.isdecimal()), default=0) + 1


def export_service(
    service,
    folder,
    card: str,
    notes: Mapping[str, Any] | None = None,
    storage: str = "float32",
    products: str = "float32",
) -> Path:
    """Exports a service as the next version of a model.

    The signatures are the service's. The graph has no XLA-only op and no Python function, since TF
    Serving supports neither. In assets.extra are warm-up requests for TF Serving, the vocabularies,
    and metadata: a description of the service, its views and the Keras config of its model. The
    version appears under its final name only when it is complete.

    Args:
        service: `Service`.
        folder: path of the model's folder; versions are numbered inside it.
        card: Markdown text of the model card, written as README.md into the version, and, for the
            newest version, beside the versions, unless the one there was edited. A section with the
            SHA-256 of every other file of the version is added.
        notes: further metadata of JSON types.
        storage: of the weights: "float32"; "float16", half the size; or "int8", a quarter, with a
            scale for each row or column of a matrix. Smaller ones are restored in float32 when the
            model is loaded.
        products: of matrices: "float32"; or "int8", in layers where that is faster on this
            machine, see `EightBitProducts`.

    Returns:
        path of the new version.

    Raises:
        ValueError: `folder` is a file or contains anything but versions of a model; ops that TF
            Serving cannot run; a view of outputs that its signature does not have; notes that JSON
            cannot hold or whose keys have another meaning; weights outside the range of the
            storage; or products that the model, or XLA, cannot have.
        OSError: the version cannot be written; a partial version is removed.
    """
    check_model_folder(folder)
    _check_notes(notes or {})
    jit = getattr(service, JIT, False)
    eight_bits = EightBitProducts(service.model, service.signatures(), products, jit)
    is_new = not Path(folder).exists()
    folder = made_folder(folder)
    try:
        version = _write_version(service, folder, card, notes or {}, storage, eight_bits)
    except (OSError, tf.errors.OpError) as error:
        reason = _reason(error)
        raise OSError(f"Expected to write a version into {folder}. Received: {reason}") from error
    finally:
        with contextlib.suppress(OSError):
            if is_new:
                folder.rmdir()  # Removes the folder only if it is empty.
    _write_card_beside(version)
    return version


def _check_notes(notes):
    """Raises ValueError for further metadata that cannot be stored."""
    if taken := sorted({VIEWS, MODEL_KEY, DIGESTS, STORAGE, PRODUCTS, JIT} & set(notes)):
        raise ValueError(f"Expected notes with keys of their own. Received: {', '.join(taken)}")
    try:
        json.dumps(notes)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Expected notes of JSON types. Received: {error}") from error


def _write_card_beside(version):
    """Copies a version's card beside the versions, unless the one there was edited."""
    path = version.with_name(CARD_FILE)
    cards = (card.read_bytes() for card in version.parent.glob(f"[0-9]*/{CARD_FILE}"))
    is_file = path.is_file() and not path.is_symlink()
    if os.path.lexists(path) and not (is_file and path.read_bytes() in cards):
        print(f"not replaced: {path}, which differs from the card of every version")
        return
    with whole_file(path) as partial:
        shutil.copyfile(version / CARD_FILE, partial)


def check_model_folder(folder) -> None:
    """Raises ValueError if a folder contains anything but versions of a model.

    The folder may be missing, empty, or have versions and their README.md. Names that begin with a
    dot are ignored.
    """
    check_folder(folder)
    folder = Path(folder)
    names = {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
    expected = {
        name for name in names if name.isdecimal() or name.startswith(".") or is_legacy_name(name)
    }
    if any((folder / name / "saved_model.pb").is_file() for name in expected):
        expected.add(CARD_FILE)
    if strange := sorted(names - expected):
        raise ValueError(
            "Expected a new folder for the model, or one with versions of it. "
            f"Received: {folder} with {', '.join(strange[:5])}"
        )


def _reason(error):
    """The system's message, which TensorFlow puts between a path and the name of an op."""
    if isinstance(error, tf.errors.OpError):
        return error.message.rsplit("; ", 1)[-1].split(" [Op:")[0]
    return error.strerror or error


def _write_version(service, folder, card, notes, storage, products):
    """Writes the next version atomically; returns its path."""
    with whole_folder(folder) as partial:
        _write_graph(service, partial, storage, products)
        write_warm_up(partial, folder.name, service)
        for name, tokenizer in service.vocabularies.items():
            tokenizer.save(partial / TOKENIZERS_FOLDER / name)
        folders = {name: partial / TOKENIZERS_FOLDER / name for name in service.vocabularies}
        stored = {DIGESTS: {name: digest_of_folder(path) for name, path in folders.items()}}
        stored |= {STORAGE: storage, PRODUCTS: products.kind, JIT: getattr(service, JIT, False)}
        content = json.dumps({**_metadata(service), **stored, **notes}, indent=2) + "\n"
        (partial / METADATA_FILE).write_text(content, encoding="utf-8")
        (partial / CARD_FILE).write_text(
            f"{card.rstrip()}\n\n{_digests(partial)}", encoding="utf-8"
        )
        version = folder / str(next_version(folder))
        move_folder(partial, version)
    return version


def _digests(folder) -> str:
    """A section of the model card: the SHA-256 of each file, as sha256sum writes and checks it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{digest_of(path)}  {path.relative_to(folder).as_posix()}" for path in files]
    words = "In this version's folder, `sha256sum --check README.md` checks them:"
    return "\n".join(["## Files", "", words, "", "```", *lines, "```", ""])


def graph_ops(version) -> set[str]:
    """Names of all op types in a SavedModel, library functions included."""
    ops = set()
    for graph in read_proto(version).meta_graphs:
        ops |= {node.op for node in graph.graph_def.node}
        for function in graph.graph_def.library.function:
            ops |= {node.op for node in function.node_def}
    return ops


def unservable_ops(version) -> set[str]:
    """Op types in a SavedModel that TF Serving cannot run: XLA's own, and Python functions."""
    ops = graph_ops(version)
    return {op for op in ops if op.lstrip("_").startswith("Xla") or op in PYTHON_OPS}


def _write_graph(service, folder, storage, products):
    """Traces each signature once; Keras' ExportArchive would trace them twice."""
    stored = StoredWeights(service.model, storage)

    def traced(function, inputs):
        def signature(*arguments):
            with stored.read(), products.apply():
                return function(*arguments)

        return tf.function(signature, inputs, autograph=False).get_concrete_function()

    holder = stored.module
    holder.resources = [
        descendant
        for tokenizer in service.vocabularies.values()
        for descendant in tf.train.TrackableView(tokenizer).descendants()
        if isinstance(descendant, tf.saved_model.experimental.TrackableResource)
    ]
    with _functions_as_they_are():
        declared = service.signatures()
        signatures = {name: traced(*parts) for name, parts in declared.items()}
        inputs = {name: {spec.name for spec in specs} for name, (_, specs) in declared.items()}
        outputs = {
            name: {
                key: np.dtype(spec.dtype.as_numpy_dtype)
                for key, spec in graph.structured_outputs.items()
            }
            for name, graph in signatures.items()
        }
        check_views(service.views, inputs, outputs)
        holder.eight_bit_products = products.variables()
        holder.further_weights = [variable.value for variable in service.further_weights]
        tf.saved_model.save(holder, str(folder), signatures)
    shrink_graph(folder)
    if bad := unservable_ops(folder):
        raise ValueError(f"Expected only ops that TF Serving runs. Received: {sorted(bad)}")


@contextlib.contextmanager
def _functions_as_they_are():
    """Context in which traced calls of functions ask Grappler not to rewrite them.

    Their options are part of the graph. Rewriting takes longer than all else at a model's first
    call, and an answer is as fast without it.
    """
    key = "disable_meta_optimizer"
    before = tf.config.optimizer.get_experimental_options().get(key, False)
    tf.config.optimizer.set_experimental_options({key: True})
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({key: before})


def _metadata(service):
    return {
        "keras_attn": __version__,
        "precision": precision_of(service.model),
        **service.metadata(),
        VIEWS: [view.to_plain() for view in service.views],
        "warm_up_batches": list(WARM_UP_BATCHES),
        MODEL_KEY: keras.saving.serialize_keras_object(service.model),
    }


def model_card(title: str, sections: Mapping[str, str]) -> str:
    """A model card in Markdown: a title, sections in order, and the versions it was made with.

    HTML in the sections is escaped, because they may quote data.
    """
    lines = [f"# {escape_markdown(title)}", ""]
    for heading, text in sections.items():
        lines += [f"## {heading}", "", escape_html(text).strip(), ""]
    versions = f"keras-attn {__version__}, tensorflow {tf.__version__}, "
    versions += ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    return "\n".join([*lines, "## Made with", "", f"{versions}.", ""])

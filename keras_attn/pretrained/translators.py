"""Encoder-decoder models of transformers as Keras models: Marian, M2M-100, NLLB, mBART, T5."""

import os
from typing import NamedTuple

import numpy as np

from keras_attn.models.transformer.transformer import Transformer
from keras_attn.models.transformer.transformer_config import ALL, TransformerConfig
from keras_attn.pretrained.checkpoint import Checkpoint
from keras_attn.pretrained.files import read_checkpoint_files
from keras_attn.pretrained.marian_npz import marian_checkpoint
from keras_attn.pretrained.search import search_of
from keras_attn.pretrained.tensors import converted
from keras_attn.pretrained.translator_sizes import MULTILINGUAL, sizes_of
from keras_attn.pretrained.translator_tensors import Plan, weights_of, with_whole_tables
from keras_attn.pretrained.translator_vocabulary import vocabularies_of
from keras_attn.text.pretrained_tokenizer import PretrainedTokenizer
from keras_attn.untrusted import naming_damage

WHAT = "a translator"
MOST_TOKENS = 512


class Translator(NamedTuple):
    """A pretrained model from text to text.

    Attributes:
        model: built `Transformer`.
        source_tokenizer: `PretrainedTokenizer` of what the model reads.
        tokenizer: `PretrainedTokenizer` of what it answers.
        search: dict of `beam_width`, `length_alpha` and `early_stopping`, as the checkpoint has
            them, for `Beam(..., normalization="average")`.
        longest: int. Maximum number of pieces of a text.
        kind: str. The checkpoint's model_type.
        ends_for_free: bool. Whether the end of an answer that is cut off costs nothing, see
            `MaximumLength`.
        source_rows: int (V,). The checkpoint's id of each id of a source.
        rows: int (V,), likewise of an answer.
    """

    model: Transformer
    source_tokenizer: PretrainedTokenizer
    tokenizer: PretrainedTokenizer
    search: dict
    longest: int
    kind: str
    ends_for_free: bool
    source_rows: np.ndarray
    rows: np.ndarray


def load_translator(source, source_language=None, target_language=None) -> Translator:
    """A `Transformer` with the weights and the tokenizers of a pretrained translator.

    Marian models (Opus-MT), M2M-100, NLLB, mBART-50, T5 and flan-T5, as transformers saves them:
    weights as `.safetensors` or `.bin`, whose tensors alone are read, config.json,
    generation_config.json and the files of the tokenizer, with the SentencePiece model; or Marian's
    own `.npz` beside its `*.vocab.yml`, source.spm and target.spm. All tensors are checked first;
    one error lists those that are missing, unexpected or of another shape.

    Units, ids and tables are put into this project's order: hidden states are those of transformers
    up to the order of their units, logits up to the order of the vocabulary. START_ID stands for
    what the checkpoint's decoder begins with.

    Args:
        source: folder, file of weights in one, or the name of a model on the Hugging Face hub, see
            `read_checkpoint_files`.
        source_language: str. Code of the source's language, such as "eng_Latn", for M2M-100, NLLB
            and mBART-50; None for all others.
        target_language: str, likewise.

    Returns:
        `Translator`.

    Raises:
        ImportError: safetensors or huggingface_hub is needed but not installed.
        OSError: a hub name that could not be downloaded.
        ValueError: a damaged file, another model, missing tensors or vocabularies, parts that do
            not fit each other, an unknown language.

    Example:
        >>> translator = load_translator("Helsinki-NLP/opus-mt-en-de")  # doctest: +SKIP
        >>> source = translator.source_tokenizer.encode(["A small test."])  # doctest: +SKIP
    """
    files = read_checkpoint_files(source)
    is_marian = files.path.suffix == ".npz"
    checkpoint = marian_checkpoint(files) if is_marian else Checkpoint.of(files)
    sizes = sizes_of(checkpoint)
    tensors = with_whole_tables(checkpoint, sizes)
    rows = _table_rows(checkpoint, tensors)
    vocabularies = vocabularies_of(checkpoint, rows, source_language, target_language)
    size = len(vocabularies["target"].rows)
    is_shared = sizes.arguments["tied"] == ALL
    try:
        config = TransformerConfig(
            vocabulary_size=size if is_shared else len(vocabularies["source"].rows),
            target_vocabulary_size=size,
            **sizes.arguments,
        )
    except (TypeError, ValueError) as error:
        raise checkpoint.refusal(str(error)) from error
    kind = checkpoint.settings["model_type"]
    silent = bool(checkpoint.search("renormalize_logits", False))
    plan = Plan(kind, sizes, config, vocabularies, silent)
    arrays = converted(checkpoint.path, tensors, plan.tensors(), WHAT)
    model = Transformer(config, name="transformer")
    model.build()
    for name, variable in weights_of(model).items():
        variable.assign(np.reshape(arrays[name], variable.shape))
    longest = min(MOST_TOKENS, config.max_sequence_length)
    source, target = vocabularies["source"], vocabularies["target"]
    with naming_damage(f"a SentencePiece model in {os.fspath(checkpoint.folder)!r}"):
        tokenizers = source.tokenizer(), target.tokenizer()
    return Translator(
        model,
        *tokenizers,
        search_of(checkpoint, kind in MULTILINGUAL),
        longest,
        kind,
        checkpoint.search("forced_eos_token_id") is not None,
        source.rows,
        target.rows,
    )


def _table_rows(checkpoint, tensors):
    """The rows of the tables of embeddings by side."""
    names = {
        "source": ("model.encoder.embed_tokens.weight", "model.shared.weight", "shared.weight"),
        "target": ("model.decoder.embed_tokens.weight", "model.shared.weight", "shared.weight"),
    }
    rows = {}
    for side, known in names.items():
        array = next((tensors[name] for name in known if name in tensors), None)
        if array is None or array.ndim != 2:
            raise ValueError(
                f"Expected the tensors of {WHAT} in {os.fspath(checkpoint.path)!r}. "
                f"Received: no table of embeddings {' or '.join(known[:2])}"
            )
        rows[side] = array.shape[0]
    return rows

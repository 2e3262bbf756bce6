"""Checkpoints of Marian itself: an `.npz` with its options, beside a vocabulary in YAML."""

import os

import numpy as np

from keras_attn.pretrained.checkpoint import Checkpoint
from keras_attn.pretrained.plain_yaml import parse_yaml
from keras_attn.pretrained.translator_sizes import MARIAN
from keras_attn.untrusted import naming_damage

OPTIONS = "special:model.yml"
_EXPECTED = {
    "type": ("transformer",),
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-aan": ("false",),
    "transformer-tied-layers": ("[]", ""),
    "transformer-ffn-depth": ("2",),
    "transformer-decoder-ffn-depth": ("2", "0"),
    "transformer-no-projection": ("false",),
    "transformer-no-bias": ("false",),
    "transformer-no-affine": ("false",),
    "transformer-pool": ("false",),
    "transformer-train-position-embeddings": ("false",),
    "transformer-postprocess-emb": ("d", ""),
    "transformer-postprocess-top": ("", "n", "d", "dn", "nd"),
    "transformer-preprocess": ("", "d", "n", "nd", "dn"),
    "transformer-postprocess": ("dan", "an", "da", "a"),
    "output-omit-bias": ("false",),
    "right-left": ("false",),
    "ulr": ("false",),
    "ulr-dim-emb": ("0",),
    "lemma-dim-emb": ("0",),
    "lemma-dependency": ("",),
    "factors-dim-emb": ("0",),
    "dim-emb-factors": ("0",),
}
"""What options may say if they are there; any other model is refused by its option's name."""
_ACTIVATIONS = {"gelu": "quick_gelu"}
"""Marian's gelu is the logistic approximation."""
_MOST_OPTIONS = 1 << 20
_EPSILON = 1e-6
_ATTENTIONS = {"self": "self_attn", "context": "encoder_attn"}
_FEED = {"ffn_W1": "fc1.weight", "ffn_b1": "fc1.bias", "ffn_W2": "fc2.weight", "ffn_b2": "fc2.bias"}
_SIDES = ("encoder", "decoder")
_LETTERS = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "out_proj"}


def marian_checkpoint(files) -> Checkpoint:
    """The checkpoint of transformers that an `.npz` of Marian stands for.

    Marian's decoder begins with an embedding of zeros, here that of a padding id after all others,
    which has no part in the probabilities; its sinusoids are those of M2M-100, from position 0,
    while transformers gives its Marian models the paper's. The self-attention of models that
    normalize first reads normalized keys and values, as Marian's present version does; earlier ones
    normalized the queries alone.

    Args:
        files: `CheckpointFiles`.

    Returns:
        `Checkpoint`.

    Raises:
        ImportError: PyYAML is not installed.
        ValueError: no options of Marian, damaged ones, or options that are not known here.
    """
    options = _options(files)
    normalizes_first = _check(files, options)
    tensors = {name: array for name, array in files.tensors.items() if name != OPTIONS}
    depths = {"encoder": _number(files, options, "enc-depth")}
    depths["decoder"] = _number(files, options, "dec-depth")
    renamed, rows = _tables(files, tensors)
    for stack, depth in depths.items():
        renamed |= _stack(tensors, stack, depth, normalizes_first)
    faults = [f"{name} of shape {array.shape}" for name, array in tensors.items()]
    if faults:
        raise ValueError(
            f"Expected the tensors of a Transformer of Marian in {os.fspath(files.path)!r}. "
            f"Received: beside them {'; '.join(faults[:10])}"
        )
    wide = _number(files, options, "transformer-dim-ffn")
    tied, activation = _tied(options), options.get("transformer-ffn-activation", "swish")
    settings = {
        "model_type": MARIAN,
        "d_model": _number(files, options, "dim-emb"),
        "encoder_layers": depths["encoder"],
        "decoder_layers": depths["decoder"],
        "encoder_attention_heads": _number(files, options, "transformer-heads"),
        "decoder_attention_heads": _number(files, options, "transformer-heads"),
        "encoder_ffn_dim": wide,
        "decoder_ffn_dim": _number(files, options, "transformer-decoder-dim-ffn", 0) or wide,
        "activation_function": _ACTIVATIONS.get(activation, activation),
        "dropout": 0.1,
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": tied in ("all", "src"),
        "tie_word_embeddings": tied in ("all", "decoder"),
        "layer_norm_epsilon": _EPSILON,
        "normalizes_first": normalizes_first,
        "pad_token_id": rows - 1,
        "decoder_start_token_id": rows - 1,
        "eos_token_id": 0,
    }
    generation = {
        "num_beams": _number(files, options, "beam-size", 6),
        "length_penalty": float(options.get("normalize", 1.0) or 1.0),
        "early_stopping": False,
        "renormalize_logits": True,
        "bad_words_ids": [[rows - 1], [1]],  # Marian says no <unk> unless it is told to.
    }
    return Checkpoint(files.path, renamed, settings, generation)


def _options(files) -> dict[str, str]:
    """The options, all of them as they are written; lists by their YAML."""
    array = files.tensors.get(OPTIONS)
    where = os.fspath(files.path)
    if array is None or array.dtype.itemsize != 1 or array.size > _MOST_OPTIONS:
        received = "none" if array is None else f"{array.dtype} of shape {array.shape}"
        raise ValueError(f"Expected {OPTIONS} of Marian in {where!r}. Received: {received}")
    with naming_damage(f"Marian's options in {where!r}"):
        text = array.tobytes().rstrip(b"\0").decode("utf-8")
        options = parse_yaml(text)
        if not isinstance(options, dict):
            raise ValueError("no options")
    return {
        str(name): value if isinstance(value, str) else "[]" if not value else str(value)
        for name, value in options.items()
    }


def _check(files, options) -> bool:
    """Whether the model normalizes first; ValueError for options that are not known."""
    for name, known in _EXPECTED.items():
        if name in options and options[name] not in known:
            raise ValueError(
                f"Expected {name} {' or '.join(map(repr, known))} in {os.fspath(files.path)!r}. "
                f"Received: {name} {options[name]!r:.80}"
            )
    before, after, top = (
        "n" in options.get(f"transformer-{name}", default)
        for name, default in (("preprocess", ""), ("postprocess", "dan"), ("postprocess-top", ""))
    )
    if before == after or top != before:
        raise ValueError(
            "Expected normalization before each sublayer and at the top (transformer-preprocess "
            "n, transformer-postprocess da, transformer-postprocess-top n) or after each "
            f"(transformer-postprocess dan) in {os.fspath(files.path)!r}. Received: "
            f"transformer-preprocess {options.get('transformer-preprocess', '')!r}, "
            f"transformer-postprocess {options.get('transformer-postprocess', 'dan')!r}, "
            f"transformer-postprocess-top {options.get('transformer-postprocess-top', '')!r}"
        )
    return before


def _number(files, options, name, default=None) -> int:
    value = options.get(name, default)
    try:
        return int(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Expected {name} of Marian as an integer in {os.fspath(files.path)!r}. "
            f"Received: {value!r:.80}"
        ) from error


def _tied(options) -> str:
    for name, tied in (("tied-embeddings-all", "all"), ("tied-embeddings-src", "src")):
        if options.get(name) == "true":
            return tied if options.get("tied-embeddings") != "true" else "all"
    return "decoder" if options.get("tied-embeddings") == "true" else "none"


def _tables(files, tensors):
    """Tables of embeddings and the bias, with a row of zeros for padding; the number of rows."""
    shared = "Wemb" in tensors
    names = {"Wemb": "model.shared.weight"} if shared else {}
    if not shared:
        names = {f"{side}_Wemb": f"model.{side}.embed_tokens.weight" for side in _SIDES}
    renamed = {}
    for own, name in names.items():
        if own in tensors:
            renamed[name] = _padded(tensors.pop(own))
    if "decoder_ff_logit_out_W" in tensors:
        renamed["lm_head.weight"] = _padded(tensors.pop("decoder_ff_logit_out_W").T)
    target = renamed.get("model.decoder.embed_tokens.weight", renamed.get("model.shared.weight"))
    if target is None or target.ndim != 2:
        raise ValueError(
            f"Expected the tensors of a Transformer of Marian in {os.fspath(files.path)!r}. "
            "Received: no table of embeddings Wemb or decoder_Wemb"
        )
    bias = tensors.pop("decoder_ff_logit_out_b", np.zeros((1, len(target) - 1), "float32"))
    renamed["final_logits_bias"] = np.pad(bias.reshape(1, -1), ((0, 0), (0, 1)))
    return renamed, len(target)


def _padded(table):
    return np.pad(table, ((0, 1), (0, 0))) if table.ndim == 2 else table


def _stack(tensors, stack, depth, normalizes_first):
    """The tensors of a stack, moved from Marian's names to those of transformers."""
    start, renamed = f"model.{stack}", {}
    suffix = "_pre" if normalizes_first else ""

    def move(own, name, turned=False):
        if own in tensors:
            array = tensors.pop(own)
            renamed[name] = array.T if turned else array.reshape(-1)

    def move_norm(own, name, end=suffix):
        move(f"{own}_ln_scale{end}", f"{name}.weight")
        move(f"{own}_ln_bias{end}", f"{name}.bias")

    for n in range(depth):
        own, name = f"{stack}_l{n + 1}", f"{start}.layers.{n}"
        for part, attention in _ATTENTIONS.items():
            for letter, linear in _LETTERS.items():
                move(f"{own}_{part}_W{letter}", f"{name}.{attention}.{linear}.weight", turned=True)
                move(f"{own}_{part}_b{letter}", f"{name}.{attention}.{linear}.bias")
            move_norm(f"{own}_{part}_Wo", f"{name}.{attention}_layer_norm")
        for part, linear in _FEED.items():
            move(f"{own}_{part}", f"{name}.{linear}", turned=linear.endswith("weight"))
        move_norm(f"{own}_ffn_ffn", f"{name}.final_layer_norm")
    move_norm(f"{stack}_top", f"{start}.layer_norm", "")
    return renamed

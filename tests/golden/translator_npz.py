"""Golden translators as Marian writes them: a file.npz, YAML and two SentencePiece models.

Names of files are those of Opus-MT's releases. "marian_npz" is of theirs, post-norm. Its answers
are those of transformers to the model that convert_marian_to_pytorch.py of transformers 4 makes of
it: with an embedding of 0 and no bias for the padding, which has the id after the last, starts and
is forbidden, with the end forced at the last place, and with other sines and another epsilon than
Marian's. "marian_npz_pre" is pre-norm, which no such script converts.

Both have what the slow twin of Marian answers, in float64, of the same pairs:

    native/encoder_last_hidden, native/logits
                            as those of transformers, 0 where padded, and all V logits
    native/greedy_ids, native/greedy_texts, native/greedy_scores
                            up to 29 tokens without the start, then −1; <unk> is forbidden

and "marian_npz_pre" also raw_keys/…: with Marian until 1.10 the keys and values of self-attention
are not normalized before, though its queries are.
"""

import re

import numpy as np
import translator_answers
import translator_marian

from tests.reference import marian

MODEL = "opus.spm32k-spm32k.transformer-align.model1.npz.best-perplexity.npz"
VOCABULARY = "opus.spm32k-spm32k.vocab.yml"
SEEDS = {"marian_npz": 0, "marian_npz_pre": 0}
LONGEST = 29
PARTS = {
    "self_attn.q_proj": ("self_Wq", "self_bq"),
    "self_attn.k_proj": ("self_Wk", "self_bk"),
    "self_attn.v_proj": ("self_Wv", "self_bv"),
    "self_attn.out_proj": ("self_Wo", "self_bo"),
    "self_attn_layer_norm": ("self_Wo_ln_scale", "self_Wo_ln_bias"),
    "encoder_attn.q_proj": ("context_Wq", "context_bq"),
    "encoder_attn.k_proj": ("context_Wk", "context_bk"),
    "encoder_attn.v_proj": ("context_Wv", "context_bv"),
    "encoder_attn.out_proj": ("context_Wo", "context_bo"),
    "encoder_attn_layer_norm": ("context_Wo_ln_scale", "context_Wo_ln_bias"),
    "fc1": ("ffn_W1", "ffn_b1"),
    "fc2": ("ffn_W2", "ffn_b2"),
    "final_layer_norm": ("ffn_ffn_ln_scale", "ffn_ffn_ln_bias"),
}
"""Names of transformers and of Marian."""
OPTIONS = {
    "bert-train-type-embeddings": True,
    "bert-type-vocab-size": 2,
    "dec-cell": "gru",
    "dec-cell-base-depth": 2,
    "dec-cell-high-depth": 1,
    "dec-depth": translator_marian.SIZES["decoder_layers"],
    "dim-emb": translator_marian.SIZES["d_model"],
    "dim-rnn": 1024,
    "enc-cell": "gru",
    "enc-cell-depth": 1,
    "enc-depth": translator_marian.SIZES["encoder_layers"],
    "enc-type": "bidirectional",
    "input-types": [],
    "layer-normalization": False,
    "right-left": False,
    "skip": False,
    "tied-embeddings": False,
    "tied-embeddings-all": True,
    "tied-embeddings-src": False,
    "transformer-aan-activation": "swish",
    "transformer-aan-depth": 2,
    "transformer-aan-nogate": False,
    "transformer-decoder-autoreg": "self-attention",
    "transformer-dim-aan": 2048,
    "transformer-dim-ffn": translator_marian.SIZES["encoder_ffn_dim"],
    "transformer-ffn-activation": "swish",
    "transformer-ffn-depth": 2,
    "transformer-guided-alignment-layer": "last",
    "transformer-heads": translator_marian.SIZES["encoder_attention_heads"],
    "transformer-no-projection": False,
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-preprocess": "",
    "transformer-tied-layers": [],
    "transformer-train-position-embeddings": False,
    "type": "transformer",
    "ulr": False,
    "ulr-dim-emb": 0,
    "ulr-trainable-transformation": False,
    "version": "v1.8.2 00000000 2019-11-30 00:00:00 +0000",
}
PRE = {
    "transformer-ffn-activation": "relu",
    "transformer-postprocess": "da",
    "transformer-postprocess-top": "n",
    "transformer-preprocess": "n",
    "version": "v1.11.0 00000000 2022-02-08 00:00:00 +0000",
}


def scalar(value):
    """A value as Marian's YAML has it: quoted only where it must be, so on and no are words."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    plain = re.fullmatch(r"[\w.;</▁][\w.;</>▁:+ -]*", text) and ": " not in text
    return text if plain else '"' + text.replace("\\", r"\\").replace('"', r"\"") + '"'


def as_yaml(mapping):
    lines = []
    for key, value in mapping.items():
        if isinstance(value, list):
            items = [f"  - {scalar(item)}\n" for item in value] or ["  []\n"]
            lines += [f"{scalar(key)}:\n", *items]
        else:
            lines.append(f"{scalar(key)}: {scalar(value)}\n")
    return "".join(lines)


def named(model, size, bias, suffix=""):
    """Marian's weights of a model of transformers, of the first `size` tokens."""
    state = {name: array.numpy() for name, array in model.state_dict().items()}
    arrays = {"Wemb": state["model.shared.weight"][:size], "decoder_ff_logit_out_b": bias}
    for name, array in state.items():
        found = re.fullmatch(r"model\.(encoder|decoder)\.layers\.(\d)\.(.*)\.(weight|bias)", name)
        if found:
            stack, layer, part, kind = found.groups()
            marians = PARTS[part][kind == "bias"] + (suffix if "norm" in part else "")
            arrays[f"{stack}_l{int(layer) + 1}_{marians}"] = np.atleast_2d(array.T)
        elif found := re.fullmatch(r"model\.(encoder|decoder)\.layer_norm\.(weight|bias)", name):
            kind = "scale" if found[2] == "weight" else "bias"
            arrays[f"{found[1]}_top_ln_{kind}"] = array[None]
    return arrays


def released(folder, arrays, options, source, target, vocabulary):
    """Writes all files but the answers."""
    options = dict(sorted({**options, "dim-vocabs": [len(vocabulary)] * 2}.items()))
    text = np.frombuffer(as_yaml(options).encode() + b"\0", "int8")
    np.savez_compressed(folder / MODEL, **arrays, **{marian.CONFIG: text})
    decoder = {
        "models": [MODEL],
        "vocabs": [VOCABULARY, VOCABULARY],
        "beam-size": 6,
        "normalize": 1,
        "word-penalty": 0,
        "mini-batch": 1,
        "maxi-batch": 1,
        "maxi-batch-sort": "src",
        "relative-paths": True,
    }
    folder.joinpath("decoder.yml").write_text(as_yaml(decoder))
    folder.joinpath(VOCABULARY).write_text(as_yaml(vocabulary))
    folder.joinpath("source.spm").write_bytes(source)
    folder.joinpath("target.spm").write_bytes(target)


def native(twin, words, arrays):
    """What a twin answers, of the batch that transformers had."""
    taught = translator_answers.TAUGHT
    sources = [row[mask > 0] for row, mask in zip(arrays["source_ids"], arrays["source_mask"])]
    targets = [row[row != words.pad_token_id] for row in arrays["target_ids"][:taught]]
    memories = [twin.encode(ids) for ids in sources[:taught]]
    logits = [twin.logits(memory, ids[:-1]) for memory, ids in zip(memories, targets)]
    found = [twin.greedy(ids, LONGEST) for ids in sources]
    ids = translator_answers.as_padded([tokens for tokens, _ in found], -1)
    texts = words.batch_decode([tokens for tokens, _ in found], skip_special_tokens=True)
    return {
        "encoder_last_hidden": stacked(memories),
        "logits": stacked(logits),
        "greedy_ids": ids,
        "greedy_texts": np.array(texts),
        "greedy_scores": np.array([score for _, score in found]),
    }


def stacked(rows):
    """float32 (B, T, …) of lists of vectors, 0 where one is shorter."""
    array = np.zeros((len(rows), max(map(len, rows)), len(rows[0][0])), "float32")
    for place, row in enumerate(rows):
        array[place, : len(row)] = row
    return array


def natives(folder, words, arrays, **kinds):
    """Answers of twins, by kind, if they tell enough."""
    weights, options = marian.read(folder / MODEL)
    random = np.random.default_rng(3)
    shaken = {n: a * (1 + 1e-5 * random.normal(size=a.shape)) for n, a in weights.items()}
    result = {}
    for kind, choices in kinds.items():
        found, again = (
            native(marian.Twin(named, options, **choices), words, arrays)
            for named in (weights, shaken)
        )
        ids, wrong = found["greedy_ids"], []
        ended = (ids[:, 1:] == marian.END).any(-1).sum()
        if not 1 < ended < len(ids) or len(np.unique(ids, axis=0)) < 6:
            wrong.append(f"greedy of {kind} ends by itself {ended} times, or repeats itself")
        if not np.array_equal(ids, again["greedy_ids"]):
            wrong.append(f"greedy of {kind} is not steady")
        if wrong:
            raise ValueError(f"Expected answers that tell enough. Received: {wrong}")
        result |= {f"{kind}/{name}": value for name, value in found.items()}
    return result


def near(one, other, known):
    """Whether logits (B, T, V) are equal at the known places (B, T)."""
    return np.abs(one - other)[known].max() < 1e-4


def post(folder):
    import torch

    source, target = translator_marian.models()
    vocabulary = translator_marian.joint(source, target)
    words = translator_marian.tokenizer(source, target, vocabulary)
    made = translator_marian.model(
        SEEDS["marian_npz"], vocabulary, {}, activation_function="swish", scale_embedding=True
    )
    size = vocabulary.pop("<pad>")
    with torch.no_grad():
        made.model.shared.weight[size], made.final_logits_bias[:, size] = 0.0, 0.0
    table = made.model.shared.weight
    table.register_hook(lambda gradient: gradient * (torch.arange(size + 1) < size)[:, None])
    arrays = translator_answers.written(
        folder, made, words, translator_marian.SOURCES, translator_marian.TARGETS
    )
    for name in ("model.safetensors", "config.json", "generation_config.json"):
        folder.joinpath(name).unlink()
    weights = named(made, size, made.final_logits_bias.numpy()[:, :size])
    released(folder, weights, OPTIONS, source, target, vocabulary)
    half = OPTIONS["dim-emb"] // 2
    weights, options = marian.read(folder / MODEL)
    twin = marian.Twin(weights, options, epsilon=1e-5, steps=half)
    logits = native(twin, words, arrays)["logits"]
    known = arrays["target_ids"][:, : logits.shape[1]][: len(logits)] != size
    assert near(logits, arrays["logits"][..., :size], known)
    return arrays | natives(folder, words, arrays, native={})


def positions(units):
    """A module in place of M2M-100's positions, with Marian's."""
    import torch

    class Positions(torch.nn.Module):
        def forward(self, input_ids, inputs_embeds, cache_length=0):
            rows = [marian.sines(at, units, units // 2 - 1) for at in range(input_ids.shape[1])]
            return torch.tensor(np.array(rows)).float()[None]

    return Positions()


def pre(folder):
    """M2M-100's blocks are the same as Marian's, so they learn in its stead."""
    import torch
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    source, target = translator_marian.models()
    vocabulary = translator_marian.joint(source, target)
    words = translator_marian.tokenizer(source, target, vocabulary)
    size, units = vocabulary.pop("<pad>"), OPTIONS["dim-emb"]
    config = M2M100Config(
        **{**translator_marian.SIZES, "max_position_embeddings": 97},
        vocab_size=size + 2,
        pad_token_id=size,
        decoder_start_token_id=size + 1,
        bos_token_id=None,
        eos_token_id=0,
        activation_function="relu",
        scale_embedding=True,
        attn_implementation="eager",
    )
    made = M2M100ForConditionalGeneration(config)
    made.model.encoder.embed_positions = made.model.decoder.embed_positions = positions(units)
    made.lm_head.bias = torch.nn.Parameter(torch.zeros(size + 2))
    translator_answers.randomize(made, SEEDS["marian_npz_pre"])
    table = made.model.shared.weight
    with torch.no_grad():
        table[size:] = 0.0
    table.register_hook(lambda gradient: gradient * (torch.arange(size + 2) < size)[:, None])
    sources, targets = translator_marian.SOURCES, translator_marian.TARGETS
    translator_answers.teach(made, words, sources, targets)
    batch, labels = translator_answers.batches(words, sources, targets)
    arrays = translator_answers.inputs(sources, targets, batch, labels)
    bias = made.lm_head.bias.detach().numpy()[None, :size]
    weights = named(made, size, bias, "_pre")
    released(folder, weights, {**OPTIONS, **PRE}, source, target, vocabulary)
    weights, options = marian.read(folder / MODEL)
    logits = native(marian.Twin(weights, options, epsilon=1e-5), words, arrays)["logits"]
    length = logits.shape[1]
    theirs = translator_answers.teacher_forcing(made, batch, labels)["logits"][..., :size]
    known = arrays["target_ids"][: len(logits), :length] != size
    assert near(logits, theirs, known)
    return arrays | natives(folder, words, arrays, native={}, raw_keys={"raw_keys": True})


CASES = {"marian_npz": post, "marian_npz_pre": pre}

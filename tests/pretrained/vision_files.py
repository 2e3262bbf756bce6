"""The golden models as files of every kind, and what a process answers that loads them.

Run as `python -m tests.pretrained.vision_files FOLDER FILE.npz`, under any Keras backend, to write
the logits of the classifier in FOLDER at both sizes.
"""

import sys
from pathlib import Path

import numpy as np
from keras import ops
from safetensors.numpy import save_file

from keras_attn.pretrained.vision_transformer import load_image_classifier

GOLDEN = Path(__file__).parents[1] / "golden" / "vision_transformer.npz"


def golden(name):
    """The arrays of a golden model, without its name."""
    with np.load(GOLDEN) as arrays:
        own = {key: arrays[key] for key in arrays.files if key.startswith(f"{name}/")}
    return {key.removeprefix(f"{name}/"): value for key, value in own.items()}


def state(name):
    """A golden model's state dict."""
    arrays = golden(name)
    return {
        key.removeprefix("state/"): value
        for key, value in arrays.items()
        if key.startswith("state/")
    }


def write_folder(folder, name, tensors=None):
    """A checkpoint directory as transformers writes it; `tensors` take the place of the model's."""
    folder.mkdir(exist_ok=True)
    save_file(state(name) if tensors is None else tensors, folder / "model.safetensors")
    for file in ("config.json", "preprocessor_config.json"):
        if file in golden(name):
            (folder / file).write_text(str(golden(name)[file]))
    return folder


def flax_arrays(heads=2, new=False):
    """The "timm" model under the names of the authors' programs; `new` has big_vision's, whose
    class token has no position of its own."""
    tensors, names = state("timm"), ("Attention_1", "LayerNorm_2", "MlpBlock_3")
    if new:
        names = ("Attention_0", "LayerNorm_1", "MlpBlock_0")
    attention, norm, feed = names
    table = tensors["pos_embed"]
    arrays = {
        "cls": tensors["cls_token"] + (table[:, :1] if new else 0),
        "embedding/kernel": tensors["patch_embed.proj.weight"].transpose(2, 3, 1, 0),
        "embedding/bias": tensors["patch_embed.proj.bias"],
        "head/kernel": tensors["head.weight"].T,
        "head/bias": tensors["head.bias"],
        "Transformer/encoder_norm/scale": tensors["norm.weight"],
        "Transformer/encoder_norm/bias": tensors["norm.bias"],
    }
    place = "pos_embedding" if new else "Transformer/posembed_input/pos_embedding"
    arrays[place] = table[:, 1:] if new else table
    for n in range(2):
        prefix, block = f"blocks.{n}", f"Transformer/encoderblock_{n}"
        units = len(tensors["norm.weight"])
        own = f"{block}/MultiHeadDotProduct{attention}"
        kernels = np.split(tensors[f"{prefix}.attn.qkv.weight"].T, 3, axis=1)
        biases = np.split(tensors[f"{prefix}.attn.qkv.bias"], 3)
        for name, kernel, bias in zip(("query", "key", "value"), kernels, biases):
            arrays[f"{own}/{name}/kernel"] = kernel.reshape(units, heads, -1)
            arrays[f"{own}/{name}/bias"] = bias.reshape(heads, -1)
        output = tensors[f"{prefix}.attn.proj.weight"].T
        arrays[f"{own}/out/kernel"] = output.reshape(heads, -1, units)
        arrays[f"{own}/out/bias"] = tensors[f"{prefix}.attn.proj.bias"]
        for layer in (1, 2):
            dense = f"{block}/{feed}/Dense_{layer - 1}"
            arrays[f"{dense}/kernel"] = tensors[f"{prefix}.mlp.fc{layer}.weight"].T
            arrays[f"{dense}/bias"] = tensors[f"{prefix}.mlp.fc{layer}.bias"]
            normal = f"{block}/{'LayerNorm_0' if layer == 1 else norm}"
            arrays[f"{normal}/scale"] = tensors[f"{prefix}.norm{layer}.weight"]
            arrays[f"{normal}/bias"] = tensors[f"{prefix}.norm{layer}.bias"]
    return {f"params/{key}": value for key, value in arrays.items()} if new else arrays


if __name__ == "__main__":
    made = load_image_classifier(Path(sys.argv[1]))
    asked = {name: golden(name)["image"] for name in ("classifier", "classifier_other")}
    np.savez(sys.argv[2], **{k: ops.convert_to_numpy(made(v)) for k, v in asked.items()})

"""Writes vision_towers/: small picture encoders of transformers, inputs and what they answer.

    PYTHONPATH=. PYTHON tests/golden/make_vision_towers.py

PYTHON is one with torch 2.13, transformers 5.24 and pillow; takes a few seconds. All weights are
random, biases and layer scales included. The names of the tensors are those that `save_pretrained`
writes. "clip" and "siglip" have a text tower, "deit" has a pooler. An array "other/..." is of
pictures of another size, for which the positions are interpolated.
"""

import tempfile
from pathlib import Path

import numpy as np

from tests.golden.make_vision_transformer import pictures, randomize

GOLDEN = Path(__file__).with_name("vision_towers")
FILES = ("model.safetensors", "config.json", "preprocessor_config.json")
SIZES = {
    "image_size": 15,
    "patch_size": 5,
    "hidden_size": 6,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
}
TEXT = {
    "vocab_size": 7,
    "hidden_size": 4,
    "intermediate_size": 5,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "max_position_embeddings": 3,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
}
EAGER = {"attn_implementation": "eager"}
MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def models():
    """name -> (model, processor, whether another size is asked for)."""
    import transformers as t

    vision = {**SIZES, "intermediate_size": 11}
    dinov2 = {**SIZES, "mlp_ratio": 2, "image_size": 20, **EAGER}
    clip = t.CLIPConfig(text_config=TEXT, vision_config=vision, projection_dim=3, **EAGER)
    siglip = t.SiglipConfig(text_config=TEXT, vision_config=vision, **EAGER)
    bit = t.BitImageProcessorPil(image_mean=MEAN, image_std=DEVIATION)
    registers = t.Dinov2WithRegistersConfig(**dinov2, num_register_tokens=2)
    return {
        "clip": (t.CLIPModel(clip), t.CLIPImageProcessorPil()),
        "siglip": (t.SiglipModel(siglip), t.SiglipImageProcessorPil()),
        "dinov2": (t.Dinov2Model(t.Dinov2Config(**dinov2)), bit),
        "dinov2_gated": (t.Dinov2Model(t.Dinov2Config(**dinov2, use_swiglu_ffn=True)), bit),
        "dinov2_registers": (t.Dinov2WithRegistersModel(registers), bit),
        "deit": (t.DeiTModel(t.DeiTConfig(**vision, **EAGER)), t.DeiTImageProcessorPil()),
    }


def answer(made, processor, images, **choices):
    """What the tower of a model makes of pictures as they are."""
    import torch

    options = {"do_resize": False, "do_center_crop": False, "return_tensors": "pt"}
    pixels = processor(list(images), **options)["pixel_values"]
    with torch.no_grad():
        given = getattr(made, "vision_model", made)(pixels, output_attentions=True, **choices)
    arrays = {"image": images, "last_hidden_state": given.last_hidden_state.numpy()}
    arrays["pooler_output"] = given.pooler_output.numpy()
    return arrays | {f"weights/{n}": array.numpy() for n, array in enumerate(given.attentions)}


def saved(made, processor):
    """The files of a model, as arrays of bytes."""
    with tempfile.TemporaryDirectory() as folder:
        made.save_pretrained(folder)
        processor.save_pretrained(folder)
        files = {name: Path(folder, name).read_bytes() for name in FILES}
    return {name: np.frombuffer(content, np.uint8) for name, content in files.items()}


def main():
    import torch

    torch.manual_seed(3)
    random = np.random.default_rng(3)
    GOLDEN.mkdir(exist_ok=True)
    for name, (made, processor) in models().items():
        made = randomize(made)
        size = SIZES["image_size"] if not name.startswith("dinov2") else 20
        parts = saved(made, processor) | answer(made, processor, pictures(random, size, size))
        other = {} if name.startswith("dinov2") else {"interpolate_pos_encoding": True}
        asked = answer(made, processor, pictures(random, 10, 25), **other)
        parts |= {f"other/{key}": value for key, value in asked.items()}
        np.savez_compressed(GOLDEN / f"{name}.npz", **parts)


if __name__ == "__main__":
    main()

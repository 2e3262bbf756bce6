"""Writes vision_transformer.npz: small ViTs of transformers, their inputs and what they answer.

    PYTHON tests/golden/make_vision_transformer.py

PYTHON is one with torch 2.13, transformers 4, pillow and timm; takes a few seconds. "model" is a
ViTModel of a picture that is no square, with pooler, tanh GELU and epsilon 1e-12; "classifier" a
ViTForImageClassification with the exact GELU and epsilon 1e-6, asked for another size too; "timm"
timm's VisionTransformer. All weights are random, biases of keys included. "bicubic" is torch's
interpolation of a grid.
"""

from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).with_name("vision_transformer.npz")
MODEL = {
    "image_size": (15, 21),
    "patch_size": 3,
    "hidden_size": 10,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "intermediate_size": 13,
    "hidden_act": "gelu_pytorch_tanh",
    "layer_norm_eps": 1e-12,
}
CLASSIFIER = {
    "image_size": 15,
    "patch_size": 5,
    "hidden_size": 6,
    "num_attention_heads": 3,
    "num_hidden_layers": 3,
    "intermediate_size": 11,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-6,
    "num_labels": 7,
}
OTHER_SIZE = (10, 25)
GRIDS = ((3, 5), (7, 11), (2, 13))


def randomize(made):
    """Random numbers for all weights, scales of normalizations about 1."""
    import torch

    for name, weight in made.named_parameters():
        mean = 1.0 if "norm" in name and name.endswith("weight") else 0.0
        torch.nn.init.normal_(weight, mean, 0.4)
    return made.eval()


def pictures(random, height, width):
    """uint8 (2, height, width, 3)."""
    return random.integers(0, 256, (2, height, width, 3)).astype(np.uint8)


def transformers_arrays(name, made, processor, images, **choices):
    """What a model of transformers makes of images, and from which weights."""
    import torch

    pixels = processor(list(images), return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        answer = made(pixels, output_attentions=True, **choices)
    arrays = {"image": images}
    for key in ("last_hidden_state", "pooler_output", "logits"):
        if key in answer:
            arrays[key] = answer[key].numpy()
    arrays |= {f"weights/{n}": array.numpy() for n, array in enumerate(answer.attentions)}
    return {f"{name}/{key}": value for key, value in arrays.items()}


def files(name, made, processor):
    """The state dict of a model of transformers and its two JSON files."""
    arrays = {f"{name}/state/{key}": array.numpy() for key, array in made.state_dict().items()}
    arrays[f"{name}/config.json"] = np.array(made.config.to_json_string())
    arrays[f"{name}/preprocessor_config.json"] = np.array(processor.to_json_string())
    return arrays


def of_transformers(random):
    """Arrays of "model", "classifier" and "classifier_other"."""
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor, ViTModel

    means = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
    processor = ViTImageProcessor(do_resize=False, **means)
    eager = {"attn_implementation": "eager"}
    model = randomize(ViTModel(ViTConfig(**MODEL, **eager)))
    classifier = randomize(ViTForImageClassification(ViTConfig(**CLASSIFIER, **eager)))
    asked = [
        ("model", model, pictures(random, 15, 21), {}),
        ("classifier", classifier, pictures(random, 15, 15), {}),
        (
            "classifier_other",
            classifier,
            pictures(random, *OTHER_SIZE),
            {"interpolate_pos_encoding": True},
        ),
    ]
    arrays = files("model", model, processor) | files("classifier", classifier, processor)
    for name, made, images, choices in asked:
        arrays |= transformers_arrays(name, made, processor, images, **choices)
    return arrays


def of_timm(random):
    """Arrays of "timm"."""
    import torch
    from timm.models.vision_transformer import VisionTransformer

    made = randomize(
        VisionTransformer(
            img_size=15, patch_size=5, embed_dim=10, depth=2, num_heads=2, mlp_ratio=1.3,
            num_classes=7,
        )
    )  # fmt: skip
    images = pictures(random, 15, 15)
    pixels = torch.tensor((images / 255 - 0.5) / 0.5).float().permute(0, 3, 1, 2)
    with torch.no_grad():
        arrays = {"image": images, "logits": made(pixels).numpy()}
    arrays |= {f"state/{key}": array.numpy() for key, array in made.state_dict().items()}
    return {f"timm/{key}": value for key, value in arrays.items()}


def of_interpolation(random):
    """A grid (3, 5, 2) and what torch makes of it at other sizes."""
    import torch

    grid = random.normal(size=(*GRIDS[0], 2)).astype(np.float32)
    arrays = {"bicubic/grid": grid}
    for height, width in GRIDS[1:]:
        resized = torch.nn.functional.interpolate(
            torch.tensor(grid).permute(2, 0, 1)[None],
            size=(height, width),
            mode="bicubic",
            align_corners=False,
        )
        arrays[f"bicubic/{height}x{width}"] = resized[0].permute(1, 2, 0).numpy()
    return arrays


def main():
    import torch

    torch.manual_seed(3)
    random = np.random.default_rng(3)
    arrays = of_transformers(random) | of_timm(random) | of_interpolation(random)
    np.savez_compressed(GOLDEN, **arrays)


if __name__ == "__main__":
    main()

"""Writes sampling.npz: torch's affine_grid and grid_sample, values and gradients.

    PYTHON tests/golden/make_sampling.py

PYTHON is one with torch 2.13; takes a second. The points of "grid" lie up to 1.5 times as far out
as the picture's edges, none at a place that is an integer. "integers" is a grid whose places are
all integers with `align_corners`, within and beyond "few", which are pictures of 3 × 5 pixels:
of these torch computes the places without rounding.
"""

from itertools import product
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).with_name("sampling.npz")
IMAGES, POINTS = (3, 5, 7, 2), (11, 13)
KERNELS, PADDINGS = ("bilinear", "nearest"), ("zeros", "border", "reflection")


def sampled(images, grid, upstream, kernel, padding, align):
    """Values and gradients, channels last."""
    import torch
    from torch.nn import functional

    images, grid = (torch.from_numpy(array).requires_grad_() for array in (images, grid))
    output = functional.grid_sample(
        images.permute(0, 3, 1, 2),
        grid,
        mode=kernel,
        padding_mode=padding,
        align_corners=align,
    ).permute(0, 2, 3, 1)
    output.backward(torch.from_numpy(upstream))
    values = {"values": output.detach(), "to_images": images.grad, "to_grid": grid.grad}
    return {name: array.numpy() for name, array in values.items()}


def main() -> None:
    """Writes the file."""
    import torch
    from torch.nn import functional

    random = np.random.default_rng(3)
    normal = lambda *shape: random.normal(size=shape).astype("float32")  # noqa: E731
    images, upstream = normal(*IMAGES), normal(IMAGES[0], *POINTS, IMAGES[-1])
    grid = random.uniform(-1.5, 1.5, (IMAGES[0], *POINTS, 2)).astype("float32")
    theta = normal(IMAGES[0], 2, 3)
    file = {"images": images, "grid": grid, "upstream": upstream, "theta": theta}
    file["few"] = few = images[:, :3, :5]
    columns, rows = (np.arange(-3, size + 3) * 2 / (size - 1) - 1 for size in (5, 3))
    integers = np.stack(np.meshgrid(columns, rows), axis=-1).astype("float32")
    file["integers"] = integers = np.repeat(integers[None], IMAGES[0], axis=0)
    file["upstream_integers"] = normal(*integers.shape[:3], IMAGES[-1])
    for kernel, padding, align in product(KERNELS, PADDINGS, (False, True)):
        arrays = sampled(images, grid, upstream, kernel, padding, align)
        if align:
            at = sampled(few, integers, file["upstream_integers"], kernel, padding, align)
            arrays |= {f"integers_{name}": value for name, value in at.items()}
        file |= {f"{kernel} {padding} {align} {name}": value for name, value in arrays.items()}
    for align in (False, True):
        parameters = torch.from_numpy(theta).requires_grad_()
        affine = functional.affine_grid(parameters, (IMAGES[0], 1, *POINTS), align_corners=align)
        affine.backward(torch.from_numpy(grid))
        file[f"affine {align} grid"] = affine.detach().numpy()
        file[f"affine {align} to_theta"] = parameters.grad.numpy()
    np.savez_compressed(GOLDEN, **file)


if __name__ == "__main__":
    main()

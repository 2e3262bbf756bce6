"""torch's affine_grid and grid_sample, or kornia's warp_affine, in `sampling_speed`."""

import torch
from torch.nn import functional

from benchmarks.sampling_speed import CALLS, Task
from benchmarks.worker import serve


def torch_read(images, theta):
    """The pictures through their maps."""
    grid = functional.affine_grid(theta, images.shape, align_corners=False)
    return functional.grid_sample(images, grid, align_corners=False)


def kornia_reader(height, width):
    """As `torch_read`: warp_affine takes the inverse maps, in pixels."""
    import kornia

    pixels = torch.tensor(
        [[width / 2, 0.0, (width - 1) / 2], [0.0, height / 2, (height - 1) / 2], [0.0, 0.0, 1.0]]
    )
    last = torch.tensor([[[0.0, 0.0, 1.0]]])

    def read(images, theta):
        whole = torch.cat([theta, last.expand(len(theta), 1, 3)], dim=1)
        maps = torch.linalg.inv(pixels @ whole @ torch.linalg.inv(pixels))[:, :2]
        return kornia.geometry.transform.warp_affine(
            images, maps, (height, width), align_corners=True
        )

    return read


def works_of(task, size, kornia):
    """The two works of one size, by name; gradients are those to images and θ."""
    images, theta, upstream = map(torch.from_numpy, task.arrays(size))
    images, upstream = (
        array.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
        for array in (images, upstream)
    )
    read = kornia_reader(*images.shape[2:]) if kornia else torch_read
    learned = [images.clone().requires_grad_(), theta.clone().requires_grad_()]

    def forward():
        with torch.inference_mode():
            for _ in range(CALLS):
                output = read(images, theta)
        return float(output.sum())

    def gradients():
        for _ in range(CALLS):
            for tensor in learned:
                tensor.grad = None
            output = read(*learned)
            output.backward(upstream)
        return float(output.detach().sum())

    return dict(zip(task.works(size), (forward, gradients)))


if __name__ == "__main__":
    serve(works_of, Task, torch.set_num_threads)

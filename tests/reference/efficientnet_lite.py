"""EfficientNet-Lite in plain NumPy, one loop per kernel tap, straight from a state dict."""

import math

import numpy as np

# Kernel size, stride and filters of each block; all but the first expand by 6.
LITE0 = (
    [(3, 1, 16)]
    + [(3, 2, 24), (3, 1, 24)]
    + [(5, 2, 40), (5, 1, 40)]
    + [(3, 2, 80), (3, 1, 80), (3, 1, 80)]
    + [(5, 1, 112)] * 3
    + [(5, 2, 192), (5, 1, 192), (5, 1, 192), (5, 1, 192)]
    + [(3, 1, 320)]
)
LITE2 = (
    [(3, 1, 16)]
    + [(3, 2, 24), (3, 1, 24), (3, 1, 24)]
    + [(5, 2, 48), (5, 1, 48), (5, 1, 48)]
    + [(3, 2, 88), (3, 1, 88), (3, 1, 88), (3, 1, 88)]
    + [(5, 1, 120)] * 4
    + [(5, 2, 208), (5, 1, 208), (5, 1, 208), (5, 1, 208), (5, 1, 208)]
    + [(3, 1, 352)]
)


def features(state: dict[str, np.ndarray], images: np.ndarray, blocks=LITE0) -> np.ndarray:
    """images (B, height, width, 3) in 0..255 -> float64 (B, height / 32, width / 32, 1280)."""
    x = (images.astype(np.float64) - 127) / 128
    x = relu6(normalize(state, "_bn0", convolve(state, "_conv_stem", x, stride=2)))
    for index, (_, stride, _) in enumerate(blocks):
        x = bottleneck(state, f"_blocks.{index}", x, stride)
    return relu6(normalize(state, "_bn1", convolve(state, "_conv_head", x)))


def logits(state: dict[str, np.ndarray], images: np.ndarray) -> np.ndarray:
    """The whole classifier: the mean over the grid, then the last linear layer."""
    pooled = features(state, images).mean(axis=(1, 2))
    return pooled @ state["_fc.weight"].T.astype(np.float64) + state["_fc.bias"]


def bottleneck(state, prefix, inputs, stride):
    x = inputs
    if f"{prefix}._expand_conv.weight" in state:
        x = convolve(state, f"{prefix}._expand_conv", x)
        x = relu6(normalize(state, f"{prefix}._bn0", x))
    x = convolve_channels(state, f"{prefix}._depthwise_conv", x, stride)
    x = relu6(normalize(state, f"{prefix}._bn1", x))
    x = normalize(state, f"{prefix}._bn2", convolve(state, f"{prefix}._project_conv", x))
    return inputs + x if x.shape == inputs.shape else x


def convolve(state, name, x, stride=1):
    kernel = state[f"{name}.weight"].astype(np.float64)  # (outputs, inputs, rows, columns)
    return sum(
        window @ kernel[:, :, row, column].T
        for row, column, window in windows(x, kernel.shape[-1], stride)
    )


def convolve_channels(state, name, x, stride):
    kernel = state[f"{name}.weight"].astype(np.float64)  # (channels, 1, rows, columns)
    return sum(
        window * kernel[:, 0, row, column]
        for row, column, window in windows(x, kernel.shape[-1], stride)
    )


def windows(x, size, stride):
    """What every tap of a size x size kernel sees, with SAME padding: the odd pixel at the end."""
    height, width = (math.ceil(n / stride) for n in x.shape[1:3])
    totals = (
        max((n - 1) * stride + size - m, 0)
        for n, m in zip((height, width), x.shape[1:3], strict=True)
    )
    x = np.pad(x, [(0, 0), *((total // 2, total - total // 2) for total in totals), (0, 0)])
    for row in range(size):
        for column in range(size):
            rows = slice(row, row + (height - 1) * stride + 1, stride)
            columns = slice(column, column + (width - 1) * stride + 1, stride)
            yield row, column, x[:, rows, columns]


def normalize(state, name, x):
    scale, offset, mean, variance = (
        state[f"{name}.{part}"].astype(np.float64)
        for part in ("weight", "bias", "running_mean", "running_var")
    )
    return (x - mean) / np.sqrt(variance + 1e-3) * scale + offset


def relu6(x):
    return np.clip(x, 0, 6)

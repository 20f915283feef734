# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""SqueezeNet v1.1 in NumPy, float64: written from the paper, not the code."""

import numpy as np


def convolve(x, kernel, bias, *, stride=1, pad=0):
  """Cross-correlation and relu, x [n, h, w, c], kernel [h, w, c, f]."""
  x = np.pad(x, [(0, 0), (pad, pad), (pad, pad), (0, 0)])
  height, width = kernel.shape[:2]
  windows = np.lib.stride_tricks.sliding_window_view(
    x, (height, width), axis=(1, 2)
  )[:, ::stride, ::stride]
  # windows: [n, rows, columns, c, h, w].
  y = np.einsum('nrcihw,hwif->nrcf', windows, kernel, optimize=True)
  return np.maximum(y + bias, 0)


def max_pool(x):
  """The largest in windows of 3x3, two apart, all inside the image."""
  windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
  return windows[:, ::2, ::2].max(axis=(-2, -1))


def squeezenet(weights, images):
  """Features [n, 512] of RGB images of 0 to 255, at their own size."""
  layers = iter(zip(weights[::2], weights[1::2], strict=True))
  blue_green_red = np.stack([images[..., c] for c in (2, 1, 0)], axis=-1)
  x = blue_green_red.astype(np.float64)
  x -= np.array([103.939, 116.779, 123.68])
  x = max_pool(convolve(x, *next(layers), stride=2))
  for fire in range(2, 10):
    squeezed = convolve(x, *next(layers))
    narrow = convolve(squeezed, *next(layers))
    wide = convolve(squeezed, *next(layers), pad=1)
    x = np.concatenate([narrow, wide], axis=-1)
    if fire in (3, 5):
      x = max_pool(x)
  return x.mean(axis=(1, 2))

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""SqueezeNet's weights drawn at random, for tests without the real ones."""

import pathlib

import h5py
import numpy as np

FILE_NAME = 'squeezenet_weights_tf_dim_ordering_tf_kernels_notop.h5'


def draw_weights(seed=0):
  """Returns (kernel, bias) by layer, as He et al. would draw them."""
  rng = np.random.default_rng(seed)
  channels = 64
  shapes = {'conv1': (3, 3, 3, 64)}
  for fire, (squeeze, expand) in enumerate(
    [(16, 64)] * 2 + [(32, 128)] * 2 + [(48, 192)] * 2 + [(64, 256)] * 2, 2
  ):
    shapes[f'fire{fire}/squeeze1x1'] = (1, 1, channels, squeeze)
    shapes[f'fire{fire}/expand1x1'] = (1, 1, squeeze, expand)
    shapes[f'fire{fire}/expand3x3'] = (3, 3, squeeze, expand)
    channels = 2 * expand
  return {
    layer: (
      (np.sqrt(2 / np.prod(shape[:3])) * rng.standard_normal(shape)).astype(
        np.float32
      ),
      rng.standard_normal(shape[-1]).astype(np.float32),
    )
    for layer, shape in shapes.items()
  }


def flatten(weights):
  """Returns kernels and biases in turn."""
  return [weight for pair in weights.values() for weight in pair]


def write_weights(path, weights):
  """Writes a file as Keras 2.0 did."""
  with h5py.File(path, 'w') as file:
    for layer, (kernel, bias) in weights.items():
      file[f'{layer}/{layer}_3/kernel:0'] = kernel
      file[f'{layer}/{layer}_3/bias:0'] = bias


def write(folder, seed=0):
  """Writes the file where tasks look for it."""
  write_weights(pathlib.Path(folder) / FILE_NAME, draw_weights(seed))

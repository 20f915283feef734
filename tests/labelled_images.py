# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A small file of labelled images, for tests."""

import pathlib

import numpy as np


def write(folder, name='images.npz', *, num_classes, per_class=6, seed=0):
  """Writes random 8x8 images, a third of them for testing.

  Args:
    folder: Where to write.
    name: The file.
    num_classes: Classes, equally frequent.
    per_class: Images of each, a multiple of 3.
    seed: Of the images.

  Returns:
    The arrays by name.
  """
  rng = np.random.default_rng(seed)
  labels = rng.permutation(np.repeat(np.arange(num_classes), per_class))
  is_test = np.zeros(len(labels), np.uint8)
  for label in range(num_classes):
    is_test[np.flatnonzero(labels == label)[: per_class // 3]] = 1
  arrays = {
    'images': rng.integers(0, 256, [len(labels), 8, 8, 3], np.uint8),
    'labels': labels.astype(np.uint8),
    'is_test': is_test,
  }
  np.savez(pathlib.Path(folder) / name, **arrays)
  return arrays

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks that names of tensors are those of the tensors."""

from collections.abc import Sequence

import numpy as np

# Of this package, and of Keras.
_VECTORS = ('bias', 'offset', 'scale', 'beta', 'gamma')
_MATRICES = ('kernel', 'recurrent', 'table', 'weight', 'embeddings')


def assert_named(names: Sequence[str], weights: Sequence[np.ndarray]) -> None:
  """Asserts that there is a name for each weight that goes with its rank."""
  assert len(names) == len(weights), (len(names), len(weights))
  assert len(set(names)) == len(names), names
  for name, weight in zip(names, weights):
    layer, _, part = name.rpartition('/')
    assert layer, name
    if layer != 'features':
      assert part in (_VECTORS if weight.ndim == 1 else _MATRICES), (
        name,
        weight.shape,
      )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Random updates of two tensors, for tests of aggregators."""

import collections

import numpy as np
import tensorflow_federated as tff

TYPE = tff.to_type(
  collections.OrderedDict(
    a=tff.TensorType(np.float32, (2, 3)), b=tff.TensorType(np.float32)
  )
)


def draw(number, seed=0):
  """Returns updates of TYPE, of normal numbers."""
  normal = np.random.default_rng(seed).normal
  return [
    collections.OrderedDict(
      a=normal(size=(2, 3)).astype(np.float32), b=np.float32(normal())
    )
    for _ in range(number)
  ]

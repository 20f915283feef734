# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Names of a model's tensors in measurements."""

from collections.abc import Sequence

from fedfish_tff import errors

import tensorflow_federated as tff


def name_tensors(
  tensor_types: Sequence[tff.TensorType], names: Sequence[str] | None = None
) -> list[str]:
  """Returns a name for each tensor.

  Args:
    tensor_types: The types, of which shapes make the default names.
    names: A name for each tensor, all different. By default they are named by
      position and shape, such as 0_64x32.
  """
  if names is None:
    return [
      f'{i}_' + ('x'.join(str(d) for d in t.shape) or 'scalar')
      for i, t in enumerate(tensor_types)
    ]
  if len(names) != len(tensor_types) or len(set(names)) != len(names):
    raise errors.InputError(
      'tensor_names must be as many different names as there are trainable '
      f'tensors, {len(tensor_types)}, got {len(set(names))}.'
    )
  return list(names)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Groups of tensors that are sent together."""

from collections.abc import Sequence

from fedfish_tff import errors


def group_by_layer(tensor_names: Sequence[str]) -> tuple[int, ...]:
  """Puts tensors of one layer, such as its kernel and bias, into one group.

  Args:
    tensor_names: One name per tensor, with slashes. The layer is the part
      before the last slash. A name without a slash is a layer of its own.

  Returns:
    The number of each tensor's group, counted from 0 by first appearance.

  Raises:
    errors.InputError: If there are no names, or all tensors would be one group.
  """
  layers = [
    name.rpartition('/')[0] or f'/{position}'
    for position, name in enumerate(tensor_names)
  ]
  numbers = {layer: n for n, layer in enumerate(dict.fromkeys(layers))}
  if not numbers:
    raise errors.InputError(
      'Grouping by layer needs a name for each tensor, got none.'
    )
  if len(numbers) == 1 < len(layers):
    raise errors.InputError(
      'The names of tensors must be of several layers, got one, '
      f'{layers[0]!r}, for all {len(layers)} tensors, so that either all or '
      'none would be sent.'
    )
  return tuple(numbers[layer] for layer in layers)


def check_groups(groups: Sequence[int]) -> tuple[int, ...]:
  """Returns groups as a tuple.

  Args:
    groups: The number of each tensor's group.

  Raises:
    errors.InputError: If the groups are not numbered from 0 without a gap.
  """
  groups = tuple(groups)
  if sorted(set(groups)) != list(range(len(set(groups)))) or not groups:
    raise errors.InputError(
      'The groups of tensors must be numbers from 0 without a gap, one for '
      f'each tensor, got {groups}.'
    )
  return groups

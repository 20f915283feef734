# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Surveys of a user's arrays: sizes, labels and possible mistakes."""

import collections
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from fedfish_tff import datasets
from fedfish_tff import errors

import numpy as np
import tqdm

# Larger labels cannot be classes: a model of so many classes exceeds the size
# limit of TensorFlow's graphs.
MOST_CLASSES = 2**24
# More distinct whole numbers than this are counts or amounts, not classes.
_MOST_WHOLE_VALUES = 1000
# So many clients show the range of features where nothing else is needed.
_SAMPLED_CLIENTS = 100
# Perceptrons train well on features up to about this size.
_LARGE_FEATURE = 20
_SHOWN = 3


@dataclasses.dataclass(kw_only=True)
class Survey:
  """Statistics of the clients of all splits.

  Attributes:
    sizes: The number of examples of each client that was read.
    lowest: The smallest feature.
    highest: The largest feature.
    labels: For each split, the number of examples of each label; empty if
      labels are not whole numbers, or are too many.
    one_hot: Whether each label is a vector of one 1 among 0s.
    first_client: For each label, the first client that has it.
  """

  sizes: list[int] = dataclasses.field(default_factory=list)
  lowest: float = np.inf
  highest: float = -np.inf
  labels: dict[str, collections.Counter[int]] = dataclasses.field(
    default_factory=dict
  )
  one_hot: bool = True
  first_client: dict[int, str] = dataclasses.field(default_factory=dict)

  @property
  def num_classes(self) -> int:
    """One more than the largest label; at least 1."""
    return max([0, *self.first_client]) + 1


def survey(
  splits: Mapping[str, datasets.ClientData],
  *,
  is_regression: bool,
  whole: bool,
) -> Survey:
  """Reads clients and counts what they hold.

  Args:
    splits: Clients with arrays x and y, by the name of the split.
    is_regression: Whether labels may be any numbers.
    whole: Whether every client is read; otherwise about a hundred per split.

  Returns:
    The counts.

  Raises:
    errors.InputError: If a client cannot be read, or a label of a
      classification is not a class.
  """
  found = Survey(labels={split: collections.Counter() for split in splits})
  read = [
    (split, client_id)
    for split, clients in splits.items()
    for client_id in _choose(clients, whole)
  ]
  has_classes = True
  for split, client_id in tqdm.tqdm(
    read, desc='look at the data', unit=' clients', disable=None
  ):
    x, y = splits[split].load_client(client_id)
    found.sizes.append(len(x))
    if x.size:
      found.lowest = min(found.lowest, float(x.min()))
      found.highest = max(found.highest, float(x.max()))
    found.one_hot = found.one_hot and is_one_hot(y)
    if found.one_hot:
      y = y.argmax(axis=-1)
    has_classes = has_classes and y.ndim == 1 and bool(np.all(y == np.rint(y)))
    if not has_classes:
      continue
    labels, counts = np.unique(y, return_counts=True)
    if not 0 <= labels[0] <= labels[-1] < MOST_CLASSES:
      if not is_regression:
        label = labels[0] if labels[0] < 0 else labels[-1]
        raise errors.InputError(
          f"Array 'y' of client {client_id!r} holds the label {label}; labels "
          f'must be 0 to {MOST_CLASSES - 1}. If they are amounts, set '
          'task.kind=regression.'
        )
      has_classes = False
      continue
    for label, count in zip(labels.tolist(), counts.tolist(), strict=True):
      found.labels[split][int(label)] += count
      found.first_client.setdefault(int(label), client_id)
    if is_regression:
      has_classes = len(found.first_client) <= _MOST_WHOLE_VALUES
  if not has_classes:
    found.first_client.clear()
    for counter in found.labels.values():
      counter.clear()
  return found


def warn(
  found: Survey, *, is_regression: bool, num_classes: int, scale: float
) -> Iterator[str]:
  """Yields a sentence for each possible mistake.

  Args:
    found: The survey of all clients, in whole or in part.
    is_regression: Whether the task is a regression.
    num_classes: The number of classes that the user has set; 0 for none.
    scale: The number that features are divided by.
  """
  most = max(abs(found.lowest), abs(found.highest)) / scale
  if most > _LARGE_FEATURE:
    yield (
      f'Features are {found.lowest:g} to {found.highest:g}, divided by '
      f'{scale:g}, and networks train badly on values so large: '
      f'task.scale={_propose_scale(found):g} brings them below 1.'
    )
  if is_regression:
    if found.one_hot or found.first_client:
      values = 'vectors of one 1 among 0s' if found.one_hot else 'whole numbers'
      yield (
        f'The labels y are {values} ({errors.list_some(sorted(found.first_client), _SHOWN)}), '
        'taken as targets of a regression: task.kind=classification makes them '
        'classes.'
      )
    return
  if num_classes:
    return
  unused = sorted(set(range(found.num_classes)) - set(found.first_client))
  if unused:
    largest = found.num_classes - 1
    yield (
      f'Labels go to {largest} (client {found.first_client[largest]!r}), so '
      f'that the model has {found.num_classes} classes, but no client has '
      f'examples of {errors.list_some(unused, _SHOWN)}. Correct the labels, which count from 0, or '
      f'set task.num_classes={found.num_classes}.'
    )
  not_trained = sorted(set(found.first_client) - set(found.labels['train']))
  if not_trained:
    yield (
      f'Only held-out clients have examples of {errors.list_some(not_trained, _SHOWN)}, of which '
      'no model will learn: task.validation_fraction and task.test_fraction say '
      'how many clients are held out.'
    )


def _choose(clients: datasets.ClientData, whole: bool) -> list[str]:
  ids = clients.client_ids
  step = 1 if whole else max(1, len(ids) // _SAMPLED_CLIENTS)
  return list(ids[::step])


def is_one_hot(y: np.ndarray) -> bool:
  """Returns whether labels [n, t] are vectors of one 1 among 0s."""
  return bool(
    y.ndim == 2
    and y.shape[1] > 1
    and np.all((y == 0) | (y == 1))
    and np.all(y.sum(axis=1) == 1)
  )


def _propose_scale(found: Survey) -> float:
  """Returns 255 for features that look like pixels, else a power of ten."""
  most = max(abs(found.lowest), abs(found.highest))
  if found.lowest >= 0 and 128 <= most <= 255:
    return 255.0
  return float(10 ** np.ceil(np.log10(most)))

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Surveys of a user's arrays: sizes, labels and possible mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import functools

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
_LARGEST_PIXEL = 255.0
# A feature below this share of the others' scale has little effect.
_VISIBLE = 0.01
# Of so narrow a span for their size, values are almost one in float32.
_NARROW = 1e-3
# Squares of larger numbers leave the range of float64.
_LARGEST_SQUARED = 1e150
_list = functools.partial(errors.list_some, most=3)


@dataclasses.dataclass(kw_only=True)
class Survey:
  """Statistics of the clients of all splits.

  Attributes:
    sizes: For each split, the number of examples of each client that was read.
    lowest: The smallest feature, of each column where x is [n, columns].
    highest: The largest feature, of each column where x is [n, columns].
    one_hot: Whether each label is a vector of one 1 among 0s.
    first_client: For each label, the first client that has it; empty if labels
      are not whole numbers, or are too many.
    trained: The labels of these that training clients have.
  """

  sizes: dict[str, list[int]] = dataclasses.field(default_factory=dict)
  lowest: np.ndarray = dataclasses.field(
    default_factory=lambda: np.array(np.inf)
  )
  highest: np.ndarray = dataclasses.field(
    default_factory=lambda: np.array(-np.inf)
  )
  one_hot: bool = True
  first_client: dict[int, str] = dataclasses.field(default_factory=dict)
  trained: set[int] = dataclasses.field(default_factory=set)

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
  """
  found = Survey(sizes={split: [] for split in splits})
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
    found.sizes[split].append(len(x))
    if x.size:
      columns = x if x.ndim == 2 else x.reshape(-1, 1)
      lowest, highest = columns.min(axis=0), columns.max(axis=0)
      found.lowest = np.minimum(found.lowest, lowest.astype(np.float64))
      found.highest = np.maximum(found.highest, highest.astype(np.float64))
    found.one_hot = found.one_hot and is_one_hot(y)
    if found.one_hot:
      y = y.argmax(axis=-1)
    has_classes = has_classes and y.ndim == 1 and bool(np.all(y == np.rint(y)))
    if not has_classes:
      continue
    labels = np.unique(y)
    lowest_label = -MOST_CLASSES if is_regression else 0
    if not lowest_label <= labels[0] <= labels[-1] < MOST_CLASSES:
      if not is_regression:
        label = labels[0] if labels[0] < 0 else labels[-1]
        raise errors.InputError(
          f"Array 'y' of client {client_id!r} holds the label {label}; labels "
          f'must be 0 to {MOST_CLASSES - 1}. If they are amounts, set '
          'task.kind=regression.'
        )
      has_classes = False
      continue
    for label in map(int, labels.tolist()):
      found.first_client.setdefault(label, client_id)
      if split == 'train':
        found.trained.add(label)
    if is_regression:
      has_classes = len(found.first_client) <= _MOST_WHOLE_VALUES
  if not has_classes:
    found.first_client.clear()
    found.trained.clear()
  return found


def moments(clients: datasets.ClientData) -> tuple[np.ndarray, np.ndarray]:
  """Returns the mean and standard deviation of each feature, float64.

  The deviation of a constant feature is replaced by 1. Features must be finite,
  and their squares too.

  Args:
    clients: Clients with arrays x and y.
  """
  # Imported late: scikit-learn takes a second.
  from sklearn import preprocessing  # pylint: disable=g-import-not-at-top

  scaler = preprocessing.StandardScaler()
  for client_id in tqdm.tqdm(
    clients.client_ids, desc='standardize', unit=' clients', disable=None
  ):
    x, _ = clients.load_client(client_id)
    flat = x.reshape(len(x), -1).astype(np.float64)
    if not np.all(np.abs(flat) <= _LARGEST_SQUARED):
      raise errors.InputError(
        f"Array 'x' of client {client_id!r} must hold finite numbers of at most "
        f'{_LARGEST_SQUARED:g} to be standardized, got others.'
      )
    scaler.partial_fit(flat)
  return scaler.mean_, scaler.scale_


def warn(
  found: Survey,
  *,
  is_regression: bool,
  num_classes: int,
  scale: float | None,
) -> Iterator[str]:
  """Yields a sentence for each possible mistake.

  Args:
    found: The survey of all clients, in whole or in part.
    is_regression: Whether the task is a regression.
    num_classes: The number of classes that the user has set; 0 for none.
    scale: The number that features are divided by; None for features that are
      standardized.
  """
  largest = np.maximum(np.abs(found.lowest), np.abs(found.highest))
  if scale is not None and largest.max() / scale > _LARGE_FEATURE:
    proposed = _propose_scale(found)
    # Of a feature that is 0 everywhere, nothing can vanish.
    varied = largest[largest > 0]
    spans = (found.highest - found.lowest)[largest > 0] / varied
    spans = spans[spans > 0]
    if spans.size and spans.min() < _NARROW:
      remedy = (
        'task.standardize=True gives each mean 0 and deviation 1 (divided by one '
        'number, values that differ little for their size would be almost one).'
      )
    elif proposed == _LARGEST_PIXEL or varied.min() >= _VISIBLE * proposed:
      remedy = f'task.scale={proposed:g} brings them below 1.'
    else:
      remedy = (
        f'task.standardize=True gives each mean 0 and deviation 1 (with '
        f'task.scale={proposed:g}, the {np.sum(varied < _VISIBLE * proposed):,} '
        'smallest would vanish).'
      )
    yield (
      f'Features are {found.lowest.min():g} to {found.highest.max():g}, divided '
      f'by {scale:g}, and networks train badly on values so large: {remedy}'
    )
  if is_regression:
    if found.one_hot or found.first_client:
      values = 'vectors of one 1 among 0s' if found.one_hot else 'whole numbers'
      first = min(found.first_client, default=0)
      yield (
        f'The labels y are {values} ({_list(sorted(found.first_client))}), '
        'taken as targets of a regression: task.kind=classification makes them '
        f'classes{", if they count from 0" * (first < 0)}.'
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
      f'examples of {_list(unused)}. Correct the labels, which count from 0, or '
      f'set task.num_classes={found.num_classes}.'
    )
  not_trained = sorted(set(found.first_client) - found.trained)
  if not_trained:
    yield (
      'Only held-out clients, or test data of clients, have examples of '
      f'{_list(not_trained)}, of which no model will learn: '
      'task.validation_fraction and task.test_fraction say '
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
  lowest, highest = found.lowest.min(), found.highest.max()
  if lowest >= 0 and 128 <= highest <= _LARGEST_PIXEL:
    return _LARGEST_PIXEL
  return float(10 ** np.ceil(np.log10(max(abs(lowest), abs(highest)))))

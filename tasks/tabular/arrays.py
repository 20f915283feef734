# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Your own data: a folder with one .npz file of arrays x and y per client.

Integer labels y [n] make it a classification, float labels [n] or [n, t] a
regression; a perceptron on the flattened features x [n, ...] learns it. x is
cast to float32 and not scaled.
"""

from collections.abc import Callable
from collections.abc import Sequence
import functools
import math
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import models
from tasks import checks
from tasks.task import Task

import numpy as np

NAME = 'arrays'

# Larger labels are numbers of something else: a model of as many classes is
# larger than TensorFlow's graphs can be.
_MOST_CLASSES = 2**24


def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  hidden_units: Sequence[int] = (64,),
  num_classes: int = 0,
  validation_fraction: float = 0.1,
  test_fraction: float = 0.2,
  skip_empty_clients: bool = False,
  cache_megabytes: int = 1024,
) -> Task:
  """Creates the task.

  Args:
    seed: Decides the held-out clients and initial weights.
    data_dir: Folder of `<client_id>.npz` files with the arrays x and y.
    hidden_units: Widths of the model's hidden layers.
    num_classes: Number of classes, labels being 0 to num_classes - 1; 0 to
      read every client now and count them. Of no meaning in a regression,
      where it must be 0.
    validation_fraction: Share of clients held out for validation.
    test_fraction: Share of clients held out for testing.
    skip_empty_clients: Whether to leave out clients without examples.
    cache_megabytes: Budget for keeping clients in memory, in 2^20 bytes, for
      each of training, validation and test clients.

  Returns:
    The task; metric accuracy (classification) or mse (regression).

  Raises:
    errors.InputError: If an option is out of range or the data cannot be used.
  """
  if data_dir is None:
    raise errors.InputError(
      f'Task {NAME!r} has no data_dir; a folder of .npz files was expected.'
    )
  for name, value, least in (
    ('num_classes', num_classes, 0),
    ('cache_megabytes', cache_megabytes, 1),
  ):
    checks.check_integer(name, value, least)
  checks.check_sequence('hidden_units', hidden_units)
  clients = datasets.NpzFolderClientData(
    data_dir, skip_empty_clients=skip_empty_clients
  )
  x_spec, y_spec = clients.element_spec
  for name, spec in (('x', x_spec), ('y', y_spec)):
    if not (spec.dtype.is_floating or spec.dtype.is_integer):
      raise errors.InputError(
        f'Array {name!r} of client {clients.client_ids[0]!r} holds '
        f'{spec.dtype.name}; integers or floats were expected.'
      )
  num_features = math.prod(x_spec.shape.as_list())
  if y_spec.dtype.is_floating:
    kind = _regression(y_spec, num_classes)
  else:
    kind = _classification(y_spec, clients, num_classes)
  train, validation, test = datasets.split_clients(
    clients,
    validation_fraction=validation_fraction,
    test_fraction=test_fraction,
    seed=seed,
  )
  return Task(
    name=NAME,
    train=train,
    validation=validation,
    test=test,
    create_model=functools.partial(
      kind.pop('create_model'),
      num_features=num_features,
      hidden_units=tuple(hidden_units),
      seed=seed,
    ),
    cache_bytes=cache_megabytes * 2**20,
    tensor_names=models.mlp_tensor_names(len(hidden_units)),
    **kind,
  )


def _regression(y_spec: Any, num_classes: int) -> dict[str, Any]:
  """Returns the fields of `Task` that are particular to float labels."""
  if num_classes:
    raise errors.InputError(
      f'num_classes is {num_classes}, but the labels y are '
      f'{y_spec.dtype.name}; 0 was expected for a regression.'
    )
  num_targets = math.prod(y_spec.shape.as_list())
  return dict(
    create_model=functools.partial(
      models.create_mlp_regressor, num_targets=num_targets
    ),
    metric='mse',
    higher_is_better=False,
    label_sampler=models.gaussian_label_sampler(),
    preprocess=_flatten_regression,
  )


def _classification(
  y_spec: Any, clients: datasets.ClientData, num_classes: int
) -> dict[str, Any]:
  """Returns the fields of `Task` that are particular to integer labels."""
  if y_spec.shape.rank:
    raise errors.InputError(
      f"Array 'y' of client {clients.client_ids[0]!r} holds "
      f'{y_spec.shape.as_list()} integers an example; one label an example '
      'was expected.'
    )
  if not num_classes:
    num_classes = _count_classes(clients)
  # Below 1 where all labels are negative, which preprocessing reports.
  num_classes = max(1, num_classes)
  return dict(
    create_model=functools.partial(
      models.create_mlp_classifier, num_classes=num_classes
    ),
    metric='accuracy',
    higher_is_better=True,
    label_sampler=models.categorical_label_sampler(),
    preprocess=_flatten_classification(num_classes),
  )


def _count_classes(clients: datasets.ClientData) -> int:
  """Returns one more than the largest label of all clients."""
  most = 0
  for client_id in clients.client_ids:
    largest = int(clients.load_client(client_id)[1].max())
    if largest >= _MOST_CLASSES:
      raise errors.InputError(
        f"Array 'y' of client {client_id!r} holds the label {largest}; labels "
        f'of 0 to {_MOST_CLASSES - 1} were expected.'
      )
    most = max(most, largest + 1)
  return most


def _flatten_features(x: np.ndarray) -> np.ndarray:
  return x.reshape(len(x), -1).astype(np.float32)


def _flatten_regression(examples: datasets.Examples) -> datasets.Examples:
  x, y = examples
  return _flatten_features(x), y.reshape(len(y), -1).astype(np.float32)


def _flatten_classification(
  num_classes: int,
) -> Callable[[datasets.Examples], datasets.Examples]:
  def flatten(examples: datasets.Examples) -> datasets.Examples:
    x, y = examples
    checks.check_labels('y', y, num_classes)
    return _flatten_features(x), y.astype(np.int32)

  return flatten

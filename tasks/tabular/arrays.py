# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Your own data: a folder with one .npz file of arrays x and y per client.

Integer labels y [n] make it a classification, float labels [n] or [n, t] a
regression, unless `kind` says otherwise. A small convolutional network learns
classes of pictures x [n, height, width, channels], and a perceptron on the
flattened features x [n, ...] all else, unless `model` says otherwise. Arrays
x_test and y_test are a client's own test data; or the files stand in folders
train and test. The task describes the data and warns of possible mistakes, with
the option that resolves each.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import functools
import math
import typing
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from tasks import class_labels
from tasks import networks
from tasks import options
from tasks.tabular import array_survey
from tasks.task import Task

import numpy as np

if typing.TYPE_CHECKING:
  import tensorflow as tf

NAME = 'arrays'
_HIDDEN_UNITS = (64,)
# Smaller pictures have no room for three convolutions that halve them.
_LEAST_SIDE = 16


def _check_num_classes(name: str, value: Any) -> None:
  fields.integer(0)(name, value)
  if value == 1:
    raise errors.unexpected(name, value, '2 or more, or 0 to count classes')


OPTIONS = {
  'kind': fields.Field(
    'auto',
    fields.one_of('auto', 'classification', 'regression'),
    'auto takes integer labels for classes and float labels for targets of a '
    'regression; classification takes float labels that are whole numbers, and '
    'one-hot vectors [n, num_classes], too; regression takes integers, too.',
  ),
  'model': fields.Field(
    'auto',
    fields.one_of('auto', 'cnn', 'perceptron'),
    'cnn takes classes of pictures, x [height, width, channels] or [height, '
    'width], perceptron any x; auto is cnn for classes of pictures of 16 x 16 '
    'pixels or more with 1 to 4 channels.',
  ),
  'hidden_units': fields.Field(
    _HIDDEN_UNITS,
    fields.sizes,
    "The widths of the perceptron's hidden layers.",
    goes_with={'model': ('auto', 'perceptron')},
  ),
  'num_classes': fields.Field(
    0,
    _check_num_classes,
    'The number of classes, at least 2, labels being 0 to num_classes - 1; 0 to '
    'count them now, in the files of all clients, and in a regression.',
  ),
  'scale': fields.Field(
    1.0,
    fields.number(positive=True),
    'The number that features are divided by, such as 255 for pixels.',
    goes_with={'standardize': (False,)},
  ),
  'standardize': fields.Field(
    False,
    fields.boolean,
    'Whether each feature gets mean 0 and standard deviation 1 over the '
    'examples of all training clients, which are read for it; for columns of '
    'different sizes.',
  ),
  'validation_fraction': fields.Field(
    0.1, fields.below_1, 'The share of clients held out for validation.'
  ),
  'test_fraction': fields.Field(
    0.2, fields.below_1, 'The share of clients held out for testing.'
  ),
  'skip_empty_clients': fields.Field(
    False, fields.boolean, 'Whether clients without examples are left out.'
  ),
  'cache_megabytes': options.cache_megabytes(1024),
}


@options.declare(OPTIONS)
def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  kind: str,
  model: str,
  hidden_units: Sequence[int],
  num_classes: int,
  scale: float,
  standardize: bool,
  validation_fraction: float,
  test_fraction: float,
  skip_empty_clients: bool,
  cache_megabytes: int,
) -> Task:
  """Creates the task; `OPTIONS` describes the options.

  The seed is that of the held-out clients and of initial weights. data_dir is
  the folder of `<client_id>.npz` files, as `datasets.NpzFolderClientData` reads
  it.

  Returns:
    The task, with `own_test` if clients have test data of their own; its metric
    is accuracy (classification) or mse (regression).
  """
  if data_dir is None:
    raise errors.InputError(
      f'Task {NAME!r} must have a data_dir, a folder of .npz files, got none.'
    )
  clients = datasets.NpzFolderClientData(
    data_dir, skip_empty_clients=skip_empty_clients
  )
  x_spec, y_spec = clients.element_spec
  for name, spec in (('x', x_spec), ('y', y_spec)):
    if not (spec.dtype.is_floating or spec.dtype.is_integer):
      raise errors.InputError(
        f'Array {name!r} of client {clients.client_ids[0]!r} must hold integers '
        f'or floats, got {spec.dtype.name}.'
      )
    if not spec.shape.num_elements():
      raise errors.InputError(
        f'Array {name!r} of client {clients.client_ids[0]!r} must hold one '
        f'number or more per example, got the shape {spec.shape.as_list()}.'
      )
  is_regression = kind == 'regression' or (
    kind == 'auto' and y_spec.dtype.is_floating
  )
  if is_regression and num_classes:
    raise errors.InputError(
      f'num_classes must be 0 in a regression, got {num_classes} with labels y '
      f'of {y_spec.dtype.name}; task.kind=classification takes them as classes.'
    )
  splits = dict(
    zip(
      ('train', 'validation', 'test'),
      datasets.split_clients(
        clients,
        validation_fraction=validation_fraction,
        test_fraction=test_fraction,
        seed=seed,
      ),
      strict=True,
    )
  )
  own_test = clients.own_test
  if own_test is not None:
    _check_own_test(splits, own_test)
  found = array_survey.survey(
    splits if own_test is None else {**splits, 'own_test': own_test},
    is_regression=is_regression,
    whole=not is_regression and not num_classes,
  )
  warnings = array_survey.warn(
    found,
    is_regression=is_regression,
    num_classes=num_classes,
    scale=None if standardize else scale,
  )
  is_picture = _takes_pictures(
    model,
    x_spec.shape.as_list(),
    is_regression=is_regression,
    hidden_units=hidden_units,
  )
  sides = x_spec.shape.as_list()
  shape = (*sides, 1)[:3] if is_picture else (math.prod(sides),)
  if standardize:
    mean, deviation = array_survey.moments(splits['train'])
    prepare = functools.partial(
      _standardize, shape=shape, mean=mean, deviation=deviation
    )
  else:
    prepare = functools.partial(_divide, shape=shape, scale=scale)
  if is_regression:
    num_targets = math.prod(y_spec.shape.as_list())
    learned = f'regression, {num_targets} targets'
    task = functools.partial(
      Task,
      metric='mse',
      higher_is_better=False,
      label_sampler=models.gaussian_label_sampler(),
      preprocess=functools.partial(_prepare_regression, prepare=prepare),
    )
    create_model = functools.partial(
      models.create_mlp_regressor, num_targets=num_targets
    )
  else:
    _check_classes(y_spec, found, kind, num_classes)
    num_classes = num_classes or found.num_classes
    learned = f'classification, {num_classes} classes'
    task = functools.partial(
      Task,
      metric='accuracy',
      higher_is_better=True,
      label_sampler=models.categorical_label_sampler(),
      preprocess=functools.partial(
        _prepare_classification, prepare=prepare, num_classes=num_classes
      ),
    )
    create_model = functools.partial(
      models.create_mlp_classifier, num_classes=num_classes
    )
  if is_picture:
    tensor_names = networks.COMPACT_CNN_TENSORS
    create_model = functools.partial(
      networks.create_compact_cnn, input_shape=shape, num_classes=num_classes
    )
  else:
    tensor_names = models.mlp_tensor_names(len(hidden_units))
    create_model = functools.partial(
      create_model, num_features=shape[0], hidden_units=tuple(hidden_units)
    )
  return task(
    name=NAME,
    **splits,
    own_test=own_test,
    create_model=functools.partial(create_model, seed=seed),
    cache_bytes=cache_megabytes * 2**20,
    tensor_names=tensor_names,
    description=(
      f'{_describe_clients(splits, own_test, found)}; features '
      f'{x_spec.dtype.name}{x_spec.shape.as_list()} of '
      f'{found.lowest.min():g} to {found.highest.max():g}'
      f'{", standardized" if standardize else ""}; {learned}'
      f'{", by a convolutional network" if is_picture else ""}'
    ),
    warnings=tuple(warnings),
  )


def _takes_pictures(
  model: str,
  shape: Sequence[int],
  *,
  is_regression: bool,
  hidden_units: Sequence[int],
) -> bool:
  """Returns whether the model is the convolutional network."""
  if model == 'perceptron':
    return False
  if model == 'cnn':
    if is_regression or len(shape) not in (2, 3):
      raise errors.InputError(
        'model must be perceptron or auto but for classes of pictures, x '
        f'[height, width, channels] or [height, width], got cnn with x {shape}'
        f'{" of a regression" if is_regression else ""}.'
      )
    return True
  if is_regression or not (
    len(shape) == 3 and min(shape[:2]) >= _LEAST_SIDE and 1 <= shape[2] <= 4
  ):
    return False
  if tuple(hidden_units) != _HIDDEN_UNITS:
    raise errors.InputError(
      'hidden_units must be left out for pictures, which a convolutional '
      f'network learns, unless task.model is perceptron, got {hidden_units}.'
    )
  return True


def _check_classes(
  y_spec: tf.TensorSpec,
  found: array_survey.Survey,
  kind: str,
  num_classes: int,
) -> None:
  """Raises InputError unless labels are classes."""
  if found.one_hot and kind == 'auto':
    raise errors.InputError(
      f"Array 'y' holds {y_spec.shape.as_list()} integers per example, one 1 "
      'among 0s; task.kind=classification takes such labels.'
    )
  if not found.first_client and y_spec.shape.rank > 0:
    raise errors.InputError(
      f"Array 'y' must hold one class per example, [n], got {y_spec.dtype.name}"
      f'{y_spec.shape.as_list()} of each, which are no vectors of one 1 among 0s.'
    )
  if not found.first_client:
    raise errors.InputError(
      f"Array 'y' must hold one class per example, got "
      f'{y_spec.dtype.name}{y_spec.shape.as_list()} that are not whole numbers '
      'of classes, nor vectors of one 1 among 0s.'
    )
  if not num_classes and len(found.first_client) == 1:
    raise errors.InputError(
      "Array 'y' must hold labels of two classes or more, got "
      f'{found.num_classes - 1} alone at all clients; task.num_classes says how '
      'many there are where no client has examples of the others.'
    )


def _check_own_test(
  splits: Mapping[str, datasets.ClientData], own_test: datasets.ClientData
) -> None:
  """Raises InputError for a split without a client to score on its own data."""
  known = set(own_test.client_ids)
  for name, clients in splits.items():
    if clients.client_ids and known.isdisjoint(clients.client_ids):
      raise errors.InputError(
        f'At least one of the {len(clients.client_ids)} {name} clients must have '
        f'test data of its own, which {len(known)} client(s) have, got none; '
        'another seed, or task.validation_fraction and task.test_fraction, hold '
        'out others.'
      )


def _describe_clients(
  splits: Mapping[str, datasets.ClientData],
  own_test: datasets.ClientData | None,
  found: array_survey.Survey,
) -> str:
  """Returns numbers of clients and examples."""
  numbers = [f'{len(c.client_ids):,} {name}' for name, c in splits.items()]
  total = sum(len(clients.client_ids) for clients in splits.values())
  sizes = [size for name in splits for size in found.sizes[name]]
  described = f'{", ".join(numbers)} clients of {_sizes(sizes, total)}'
  if own_test is not None:
    total = len(own_test.client_ids)
    sizes = found.sizes['own_test']
    described += f'; own test data at {total:,} of {_sizes(sizes, total)}'
  return described


def _sizes(sizes: Sequence[int], num_clients: int) -> str:
  """Returns '2 to 5 examples (30 in all)'."""
  seen = 'all' if len(sizes) == num_clients else f'the {len(sizes):,} looked at'
  return f'{errors.span(sizes, ",")} examples ({sum(sizes):,} in {seen})'


def _divide(x: np.ndarray, *, shape: Sequence[int], scale: float) -> np.ndarray:
  shaped = x.reshape(len(x), *shape).astype(np.float32)
  return shaped if scale == 1 else shaped / np.float32(scale)


def _standardize(
  x: np.ndarray,
  *,
  shape: Sequence[int],
  mean: np.ndarray,
  deviation: np.ndarray,
) -> np.ndarray:
  flat = x.reshape(len(x), -1).astype(np.float64)
  standardized = ((flat - mean) / deviation).astype(np.float32)
  return standardized.reshape(len(x), *shape)


def _prepare_regression(
  examples: datasets.Examples, *, prepare: Callable[[np.ndarray], np.ndarray]
) -> datasets.Examples:
  x, y = examples
  return prepare(x), y.reshape(len(y), -1).astype(np.float32)


def _prepare_classification(
  examples: datasets.Examples,
  *,
  prepare: Callable[[np.ndarray], np.ndarray],
  num_classes: int,
) -> datasets.Examples:
  x, y = examples
  if array_survey.is_one_hot(y):
    y = y.argmax(axis=1)
  if y.ndim != 1 or np.any(y != np.rint(y)):
    raise errors.InputError(
      "array 'y' must hold one class per example, got other numbers."
    )
  class_labels.check_labels('y', y, num_classes)
  return prepare(x), y.astype(np.int32)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Features and sums of the methods that solve for the classifier."""

from __future__ import annotations

from collections.abc import Mapping
import typing
from typing import Any

from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from launch.methods import building
from launch.methods import config_fields

import numpy as np

if typing.TYPE_CHECKING:
  from tasks.task import Task

  import tensorflow_federated as tff

# The number of held-out examples whose distances give the bandwidth.
_MEDIAN_EXAMPLES = 1000

# The features of most tasks do not depend on the seed.
SHARED = building.FIELDS_OF_THE_LOOP | {'seed'}
# The reasons why closed forms do not support something (`Method.reasons`).
REASONS: Mapping[str, str] = {'weight_average': 'its clients train no model'}

FIELDS: Mapping[str, fields.Field] = {
  'accumulator': fields.Field(
    'float32',
    fields.one_of('float32', 'float64'),
    'The type that sums are made in.',
  )
}


def create_model(
  parts: building.Ingredients,
) -> tff.learning.models.FunctionalModel:
  """Creates the model whose classifier is solved for.

  The config is that of a method with FIELDS, and the task's model has features.
  """
  return prepare(parts)[1]


def prepare(
  parts: building.Ingredients,
) -> tuple[
  models.FeatureMap, tff.learning.models.FunctionalModel, dict[str, Any]
]:
  """Returns the features that are summed, `create_model`'s model and arguments.

  The arguments are those that builders take beside the features.
  """
  import tensorflow as tf  # pylint: disable=g-import-not-at-top

  algorithm, task = parts.algorithm, parts.task
  feature_map = create_feature_map(
    algorithm, task, seed=parts.config.seed, wanted_by=algorithm.name
  )
  num_classes = count_classes(task)
  model = models.create_feature_classifier(feature_map, num_classes=num_classes)
  return (
    feature_map,
    model,
    {
      'num_classes': num_classes,
      'accumulator_dtype': tf.as_dtype(algorithm.accumulator),
    },
  )


def create_feature_map(
  algorithm: config_fields.Values, task: Task, *, seed: int, wanted_by: str
) -> models.FeatureMap:
  """Returns the task's feature map, or random features on top of it.

  Args:
    algorithm: The fields of a method; num_random_features among them asks for
      random features.
    task: A task whose model has features.
    seed: The seed of random features.
    wanted_by: The name of the caller, for the error.
  """
  if task.feature_map is None:
    raise errors.InputError(
      f'The model of task {task.name!r} must have a feature map for '
      f'{wanted_by}; tasks of features, such as digits and cifar100_features, '
      'have one.'
    )
  if not hasattr(algorithm, 'num_random_features'):
    return task.feature_map
  return models.create_random_features(
    task.feature_map,
    num_random_features=algorithm.num_random_features,
    bandwidth=algorithm.bandwidth or _median_bandwidth(task),
    seed=seed,
  )


def _median_bandwidth(task: Task) -> float:
  """Returns the median distance between features of validation examples."""
  import tensorflow as tf  # pylint: disable=g-import-not-at-top

  features, count = [], 0
  for client_id in task.validation.client_ids:
    if count >= _MEDIAN_EXAMPLES:
      break
    x, _ = task.validation.load_client(client_id)
    x = x[: _MEDIAN_EXAMPLES - count]
    features.append(
      task.feature_map(task.feature_map.initial_weights, tf.constant(x)).numpy()
    )
    count += len(x)
  return models.median_bandwidth(np.concatenate(features))


def count_classes(task: Task) -> int:
  """Returns the output width of the model's last layer, a linear classifier."""
  *_, bias = task.create_model().initial_weights[0]
  return int(np.shape(bias)[0])

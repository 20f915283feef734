# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Processes that solve for the classifier, and models to fine-tune from it."""

from collections.abc import Mapping
from typing import Any

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff import models
from launch import config_checks
from tasks.task import Task

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Held-out examples whose distances give the bandwidth.
_MEDIAN_EXAMPLES = 1000


def build_closed_form(
  algorithm: Mapping[str, Any], task: Task, *, seed: int
) -> tuple[
  tff.learning.models.FunctionalModel,
  algorithms.FederatedProcess,
  models.FeatureMap,
]:
  """Builds a process that solves for the classifier.

  Args:
    algorithm: The checked block of the config.
    task: The task.
    seed: Of random features.

  Returns:
    The model, the process, and what it has sums of.

  Raises:
    errors.InputError: If the task's model has no features.
  """
  feature_map = create_feature_map(algorithm, task, seed=seed)
  num_classes = _num_classes(task)
  arguments = dict(
    num_classes=num_classes,
    accumulator_dtype=tf.as_dtype(algorithm['accumulator']),
  )
  if algorithm['name'] == 'fed_ncm':
    process = algorithms.build_fed_ncm(
      feature_map,
      distance=algorithms.ClassDistance(algorithm['distance']),
      **arguments,
    )
  else:
    # Fed3R-RF is Fed3R on the map of random features.
    process = algorithms.build_fed3r(
      feature_map,
      regularization=algorithm['regularization'],
      bias=models.RidgeBias(algorithm['bias']),
      normalize_classes=algorithm['normalize_classes'],
      **arguments,
    )
  model = models.create_feature_classifier(feature_map, num_classes=num_classes)
  return model, process, feature_map


def create_fine_tuned_model(
  fine_tuning: Mapping[str, Any],
  task: Task,
  *,
  seed: int,
  start_weights: tff.learning.models.ModelWeights | None,
) -> tff.learning.models.FunctionalModel:
  """Creates the model of the tensors that are fine-tuned, the others frozen.

  Args:
    fine_tuning: The checked block of the config.
    task: The task.
    seed: Of random features.
    start_weights: Of the whole model; None for the feature map's own and a
      classifier of zero.

  Returns:
    The model.

  Raises:
    errors.InputError: If the task's model has no features, or none that can be
      trained where the strategy trains them only.
  """
  whole = models.create_feature_classifier(
    create_feature_map(fine_tuning['start'], task, seed=seed),
    num_classes=_num_classes(task),
    temperature=fine_tuning['temperature'],
  )
  strategy = models.FineTuning(fine_tuning['strategy'])
  if strategy is models.FineTuning.FT and not task.feature_map.initial_weights:
    raise errors.InputError(
      f'fine_tuning.strategy is ft, but the features of task {task.name!r} '
      'come from no weights of the model, so that only the classifier is '
      'trained; ft_lp was expected, or a task with such weights (task.inputs).'
    )
  return models.partition_model(
    whole, models.fine_tuned_tensors(whole, strategy), start=start_weights
  ).model


def create_feature_map(
  algorithm: Mapping[str, Any], task: Task, *, seed: int
) -> models.FeatureMap:
  """Returns the task's feature map, with random features for Fed3R-RF.

  Args:
    algorithm: The checked block of a closed-form algorithm, or of no start.
    task: The task.
    seed: Of random features.

  Raises:
    errors.InputError: If the task's model has no features.
  """
  if task.feature_map is None:
    name = algorithm['name']
    wanting = 'fine_tuning' if name == config_checks.NO_START else name
    raise errors.InputError(
      f'Task {task.name!r} has a model without a feature map, which '
      f'{wanting} was expected to find; tasks of features, such as digits and '
      'cifar100_features, have one.'
    )
  if algorithm['name'] != 'fed3r_rf':
    return task.feature_map
  return models.create_random_features(
    task.feature_map,
    num_random_features=algorithm['num_random_features'],
    bandwidth=algorithm['bandwidth'] or _median_bandwidth(task),
    seed=seed,
  )


def _median_bandwidth(task: Task) -> float:
  """Returns the median distance between features of validation clients."""
  features, count = [], 0
  for client_id in task.validation.client_ids:
    if count >= _MEDIAN_EXAMPLES:
      break
    x, _ = task.validation.load_client(client_id)
    x = x[: _MEDIAN_EXAMPLES - count]
    features.append(
      task.feature_map(
        task.feature_map.initial_weights, tf.constant(x), training=False
      ).numpy()
    )
    count += len(x)
  return models.median_bandwidth(np.concatenate(features))


def _num_classes(task: Task) -> int:
  """Returns the width of the model's last layer, a linear classifier."""
  *_, bias = tf.nest.flatten(task.create_model().initial_weights[0])
  return int(np.shape(bias)[0])

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""From a config's algorithm to a model and the process that trains it."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from typing import Any

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import models
from launch import closed_form_methods
from launch import config_checks
from launch import exchange_methods
from tasks.task import Task

import tensorflow_federated as tff

_MOMENTUM = 0.9

OPTIMIZERS: Mapping[str, Callable[[float], Any]] = {
  'adagrad': tff.learning.optimizers.build_adagrad,
  'adam': tff.learning.optimizers.build_adam,
  # TFF's default decay is 0.004, which no config asks for.
  'adamw': lambda rate: tff.learning.optimizers.build_adamw(
    rate, weight_decay=0.0
  ),
  'rmsprop': tff.learning.optimizers.build_rmsprop,
  'sgd': tff.learning.optimizers.build_sgdm,
  'sgdm': lambda rate: tff.learning.optimizers.build_sgdm(rate, _MOMENTUM),
  'yogi': tff.learning.optimizers.build_yogi,
}

_CLIENT_WEIGHTINGS = {
  'num_examples': tff.learning.ClientWeighting.NUM_EXAMPLES,
  'uniform': tff.learning.ClientWeighting.UNIFORM,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Method:
  """A model and the process that trains it.

  Attributes:
    model: The model, whose weights are those of the process.
    process: The process; that of a config whose clients keep weights of their
      own has client states.
    feature_map: What a closed-form process has sums of; None for others.
  """

  model: tff.learning.models.FunctionalModel
  process: algorithms.FederatedProcess | algorithms.ClientStateProcess
  feature_map: models.FeatureMap | None = None


def build_method(
  config: Mapping[str, Any],
  task: Task,
  *,
  start_weights: tff.learning.models.ModelWeights | None = None,
) -> Method:
  """Builds the model and the process of a config.

  Args:
    config: A checked config.
    task: Its task.
    start_weights: What the start of a fine-tuning has led to; None for a
      config without one.

  Returns:
    The method.

  Raises:
    errors.InputError: If the task does not go with the algorithm.
  """
  if config_checks.is_closed_form(config):
    model, process, feature_map = closed_form_methods.build_closed_form(
      config['algorithm'], task, seed=config['seed']
    )
    return Method(model=model, process=process, feature_map=feature_map)
  client_optimizer = _build_client_optimizer(config)
  if 'fine_tuning' in config:
    client_optimizer = client_work.build_weight_decay_optimizer(
      client_optimizer, config['fine_tuning']['weight_decay']
    )
  model = create_model(config, task, start_weights=start_weights)
  return Method(
    model=model,
    process=_build_process(config, task, model, client_optimizer),
  )


def _build_client_optimizer(
  config: Mapping[str, Any],
) -> tff.learning.optimizers.Optimizer:
  name, rate = (
    config['algorithm']['client_optimizer'],
    config['client_learning_rate'],
  )
  if 'client_weight_decay' in config:
    return tff.learning.optimizers.build_adamw(
      rate, weight_decay=config['client_weight_decay']
    )
  return OPTIMIZERS[name](rate)


def create_model(
  config: Mapping[str, Any],
  task: Task,
  *,
  start_weights: tff.learning.models.ModelWeights | None = None,
) -> tff.learning.models.FunctionalModel:
  """Creates the model that a config trains by gradients.

  Args:
    config: A checked config.
    task: Its task.
    start_weights: What the start of a fine-tuning has led to; by default the
      task's own weights.

  Returns:
    The model.

  Raises:
    errors.InputError: If the task does not go with the config.
  """
  if 'fine_tuning' not in config:
    return task.create_model()
  return closed_form_methods.create_fine_tuned_model(
    config['fine_tuning'],
    task,
    seed=config['seed'],
    start_weights=start_weights,
  )


def _build_process(
  config: Mapping[str, Any],
  task: Task,
  model: tff.learning.models.FunctionalModel,
  client_optimizer: tff.learning.optimizers.Optimizer,
) -> algorithms.FederatedProcess | algorithms.ClientStateProcess:
  """Builds a process that trains by gradients."""
  algorithm = config['algorithm']
  server_optimizer = OPTIMIZERS[algorithm['server_optimizer']](
    config['server_learning_rate']
  )
  weighting = _CLIENT_WEIGHTINGS[algorithm['client_weighting']]
  exchange = {}
  if 'exchange' in config:
    exchange = exchange_methods.exchange_arguments(config, task)
  if algorithm['name'] == 'fed_avg' and exchange:
    return exchange_methods.build_fed_avg(
      config,
      model,
      client_optimizer,
      server_optimizer,
      client_weighting=weighting,
      **exchange,
    )
  if algorithm['name'] == 'fed_avg':
    return algorithms.build_fed_avg(
      model, client_optimizer, server_optimizer, client_weighting=weighting
    )
  if algorithm['name'] == 'fed_prox':
    return algorithms.build_fed_prox(
      model,
      client_optimizer,
      server_optimizer,
      proximal_strength=algorithm['proximal_strength'],
      client_weighting=weighting,
    )
  if algorithm['name'] == 'mime_lite':
    return algorithms.build_mime_lite(
      model,
      client_optimizer,
      server_optimizer,
      local_epochs=config['local_epochs'],
      client_weighting=weighting,
    )
  if algorithm['name'] == 'fed_sgd':
    if 'fine_tuning' in config:
      # Nobody but the server takes steps.
      server_optimizer = client_work.build_weight_decay_optimizer(
        server_optimizer, config['fine_tuning']['weight_decay']
      )
    return algorithms.build_fed_sgd(
      model,
      server_optimizer,
      client_optimizer_fn=client_optimizer,
      client_weighting=weighting,
    )
  estimator = client_work.FisherEstimator(algorithm['fisher_estimator'])
  if (
    estimator is client_work.FisherEstimator.SAMPLED_LABEL
    and task.label_sampler is None
  ):
    raise errors.InputError(
      'algorithm.fisher_estimator is sampled_label, but the model of task '
      f'{task.name!r} defines no distribution of labels; batch_gradient or '
      'per_example was expected.'
    )
  return algorithms.build_fed_fish(
    model,
    client_optimizer,
    server_optimizer,
    local_epochs=config['local_epochs'],
    client_weighting=weighting,
    fisher_estimator=estimator,
    fisher_normalization=client_work.FisherNormalization(
      algorithm['fisher_normalization']
    ),
    damping=algorithm['damping'],
    minimum_denominator=algorithm['minimum_denominator'],
    label_sampler=task.label_sampler,
    seed=config['seed'],
    diagnostics=algorithm['diagnostics'],
    **exchange,
  )

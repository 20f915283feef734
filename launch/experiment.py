# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""From a config to everything that a run needs."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from typing import Any

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import simulation
from launch import config_checks
from launch import round_evaluation
from tasks import registry
from tasks.task import Task

import tensorflow_federated as tff

_MOMENTUM = 0.9

OPTIMIZERS: Mapping[str, Callable[[float], Any]] = {
  'adagrad': tff.learning.optimizers.build_adagrad,
  'adam': tff.learning.optimizers.build_adam,
  'adamw': tff.learning.optimizers.build_adamw,
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
class Experiment:
  """What a config means.

  Attributes:
    config: The config, nested mappings.
    task: Clients, model and metric.
    model: The task's model.
    process: The learning process.
    participation: The cohort of a round.
    batch_spec: Batches of a client in a round.
  """

  config: Mapping[str, Any]
  task: Task
  model: tff.learning.models.FunctionalModel
  process: algorithms.FederatedProcess
  participation: simulation.Participation
  batch_spec: datasets.BatchSpec

  @property
  def half_round(self) -> int:
    """The round half-way, whose model is kept beside the last one's."""
    return self.config['rounds'] // 2

  def fingerprint_data(self) -> dict[str, str]:
    """Returns the fingerprint of each split's clients, by the split's name."""
    return {
      split: datasets.fingerprint(getattr(self.task, split))
      for split in ('train', 'validation', 'test')
    }

  def build_held_out_evaluation(
    self, clients: datasets.ClientData, *, spread: bool = False
  ) -> round_evaluation.HeldOutEvaluation:
    """Builds the evaluation on held-out clients that the config asks for.

    Args:
      clients: The held-out clients.
      spread: Whether to also measure how the task's metric spreads over them.

    Returns:
      The evaluation.

    Raises:
      errors.InputError: If a client's data cannot be used, or none has the two
        examples that personalisation needs.
    """
    epochs = self.config['evaluation']['personalization_epochs']
    return round_evaluation.HeldOutEvaluation(
      self.model,
      self.process.local_training,
      clients,
      eval_batch_size=self.task.eval_batch_size,
      fine_tune_spec=(
        datasets.BatchSpec(batch_size=self.config['batch_size'], epochs=epochs)
        if epochs
        else None
      ),
      seed=self.config['seed'],
      spread_of=(
        {self.task.metric: self.task.higher_is_better} if spread else None
      ),
    )

  def build_barrier(self) -> round_evaluation.CohortBarrier | None:
    """Builds the barrier, in the loss and the task's metric; or None."""
    if not self.config['evaluation']['barrier']:
      return None
    return round_evaluation.CohortBarrier(
      self.model,
      self.process.local_training,
      eval_batch_size=self.task.eval_batch_size,
      higher_is_better={
        'loss': False,
        self.task.metric: self.task.higher_is_better,
      },
    )


def build_experiment(
  config: Mapping[str, Any], *, data_dir: str | None = None
) -> Experiment:
  """Builds a config's task and process.

  Args:
    config: Nested mappings, such as `ConfigDict.to_dict()` or a config.json.
    data_dir: Where tasks that read files find them.

  Returns:
    The experiment.

  Raises:
    errors.InputError: If a field or the data cannot be used.
  """
  config_checks.check_config(config)
  options = dict(config['task'])
  task = registry.create_task(
    options.pop('name'), seed=config['seed'], data_dir=data_dir, **options
  )
  for split in ('validation', 'test'):
    if not getattr(task, split).client_ids:
      raise errors.InputError(
        f'Task {task.name!r} has no {split} clients; at least one held-out '
        f'client was expected (task.{split}_fraction).'
      )
  model = task.create_model()
  return Experiment(
    config=config,
    task=task,
    model=model,
    process=_build_process(config, task, model),
    participation=simulation.uniform_participation(
      task.train.client_ids,
      cohort_size=config['cohort_size'],
      seed=config['seed'],
    ),
    batch_spec=datasets.BatchSpec(
      batch_size=config['batch_size'],
      epochs=config['local_epochs'],
      max_examples=config['max_examples_per_client'] or None,
    ),
  )


def _build_process(
  config: Mapping[str, Any],
  task: Task,
  model: tff.learning.models.FunctionalModel,
) -> algorithms.FederatedProcess:
  """Builds the learning process."""
  algorithm = config['algorithm']
  client_optimizer = OPTIMIZERS[algorithm['client_optimizer']](
    config['client_learning_rate']
  )
  server_optimizer = OPTIMIZERS[algorithm['server_optimizer']](
    config['server_learning_rate']
  )
  weighting = _CLIENT_WEIGHTINGS[algorithm['client_weighting']]
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
  )

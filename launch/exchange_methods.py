# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""From a config's block `exchange` to what chooses which weights are sent."""

from collections.abc import Mapping
from typing import Any

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from launch import exchange_checks
from tasks.task import Task

import tensorflow_federated as tff


def exchange_arguments(config: Mapping[str, Any], task: Task) -> dict[str, Any]:
  """Returns the selector and the names of tensors that builders take.

  Args:
    config: A checked config with an exchange.
    task: Its task.

  Returns:
    `selector` and `tensor_names`; the latter is None where the model has no
    names for its tensors.

  Raises:
    errors.InputError: If layers are wanted of a model without names.
  """
  # A fine-tuned model has other tensors than the task's.
  names = None if 'fine_tuning' in config else (task.tensor_names or None)
  if config['exchange']['group_by'] == 'layer' and names is None:
    raise errors.InputError(
      f"exchange.group_by is 'layer', but the model of task {task.name!r} has "
      "no names of tensors to tell layers by; 'tensor' was expected."
    )
  return {
    'selector': _create_selector(config['exchange'], names),
    'tensor_names': names,
  }


def _create_selector(
  exchange: Mapping[str, Any], tensor_names: tuple[str, ...] | None
) -> client_work.Selector:
  direction = client_work.Direction(exchange['direction'])
  if exchange['selection'] == 'coordinates':
    return client_work.build_coordinate_selector(
      exchange['share'],
      direction=direction,
      score=client_work.CoordinateScore(exchange['coordinate_score']),
    )
  arguments = dict(
    direction=direction,
    normalize=exchange['normalize'],
    groups=(
      client_work.group_by_layer(tensor_names)
      if exchange['group_by'] == 'layer'
      else None
    ),
  )
  if exchange['selection'] == 'threshold':
    return client_work.build_threshold_selector(
      exchange['threshold'], **arguments
    )
  return client_work.build_share_selector(exchange['share'], **arguments)


def build_fed_avg(
  config: Mapping[str, Any],
  model: tff.learning.models.FunctionalModel,
  client_optimizer: tff.learning.optimizers.Optimizer,
  server_optimizer: tff.learning.optimizers.Optimizer,
  *,
  client_weighting: tff.learning.ClientWeighting,
  selector: client_work.Selector,
  tensor_names: tuple[str, ...] | None,
) -> algorithms.FederatedProcess | algorithms.ClientStateProcess:
  """Builds FedAvg whose clients send a part of their weights.

  Args:
    config: A checked config with an exchange.
    model: The model.
    client_optimizer: The clients' optimizer.
    server_optimizer: The server's, where that keeps what nobody sends.
    client_weighting: How much a client counts.
    selector: Chooses what is sent.
    tensor_names: The names of the model's tensors, if it has some.

  Returns:
    The process.
  """
  arguments = dict(
    selector=selector,
    client_weighting=client_weighting,
    tensor_names=tensor_names,
  )
  if exchange_checks.keeps_client_states(config):
    return algorithms.build_stateful_partial_exchange(
      model, client_optimizer, **arguments
    )
  return algorithms.build_partial_exchange(
    model, client_optimizer, server_optimizer, **arguments
  )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The end of a run that diverges, and what is too large in its config."""

from collections.abc import Iterable
import functools

from fedfish_tff import simulation
from launch import json_config
from launch.methods import config as config_lib
from launch.methods import config_fields
from launch.runs import experiment as experiment_lib


def build_hook(
  experiment: experiment_lib.Experiment,
  rows: Iterable[simulation.Metrics] = (),
) -> simulation.Divergence | None:
  """Builds the hook that ends a diverged run.

  The hook decides first on the given rows of metrics.csv. The result is None
  for a closed form, which has no learning rate.
  """
  config = experiment.config
  if not config.method.learning_rates:
    return None
  hook = simulation.Divergence(
    config.stop_after_diverged_rounds,
    participation=experiment.participation,
    first_round=experiment.first_round,
    advise=functools.partial(advise, config),
  )
  hook.observe_rows(rows)
  return hook


def advise(
  config: config_lib.Config, cause: simulation.Cause, at_once: bool
) -> str:
  """Returns a clause on what is too large: learning rates, or a block's noise.

  Args:
    config: The config of the run.
    cause: The cause of the first diverged round.
    at_once: Whether no round before it had finite updates.
  """
  method = config.method
  client, server = config_fields.CLIENT_RATE, config_fields.SERVER_RATE
  by_clients = cause in (simulation.Cause.CLIENTS, simulation.Cause.LOSS)
  if at_once and by_clients and method.steps_at_server:
    return 'the inputs may be too large, since no step came before'
  # The other rate of these serves evaluations only.
  rates = [server] if method.steps_at_server else [*method.learning_rates]
  values = json_config.flatten(config.values)
  suspects = rates + [
    name
    for block in config.declared
    for name in (f'{block.name}.{field}' for field in block.diverges_by)
    if values[name]
  ]
  if method.averages_models:
    takes_mean = (
      suspects == rates
      and config.algorithm.server_optimizer == 'sgd'
      and config.server_learning_rate <= 1
    )
    # Clients have started from the initial weights, or from a mean of models.
    if takes_mean or (at_once and by_clients):
      suspects = [client]
  *others, last = (f'{name} {values[name]:g}' for name in suspects)
  told = f'{", ".join(others)} or {last}' if others else last
  return f'{told} {"is" if method.averages_models else "may be"} too large'

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The end of a run that diverges, and the learning rate that is too large."""

from collections.abc import Iterable
import functools

from fedfish_tff import simulation
from launch.methods import config as config_lib
from launch.methods import optimizers
from launch.runs import experiment as experiment_lib


def build_hook(
  experiment: experiment_lib.Experiment,
  rows: Iterable[simulation.Metrics] = (),
) -> simulation.Divergence | None:
  """Builds the hook that ends a diverged run.

  Args:
    experiment: The experiment.
    rows: The rows of metrics.csv on which it decides first.

  Returns:
    The hook; None for a closed form, which has no learning rate.
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
  """Returns a clause on the learning rate that is too large.

  It names both rates unless one of them is certain not to be the reason.

  Args:
    config: The config of the run.
    cause: The cause of the first diverged round.
    at_once: Whether no round before it had finite updates.
  """
  client, server = config_lib.CLIENT_RATE, config_lib.SERVER_RATE
  suspects = [client, server]
  if server not in config.method.learning_rates:
    suspects = [client]
  elif 'local_epochs' not in config.method.supports:
    # Clients send gradients; their rate serves evaluations only.
    suspects = [server]
  elif at_once and cause != simulation.Cause.MODEL:
    # They have started from the initial weights.
    suspects = [client]
  else:
    rate = config.server_learning_rate
    optimizer = config.algorithm.server_optimizer
    if optimizer == 'sgd' and rate <= 1:
      # The server moves no further than the clients do.
      suspects = [client]
    elif rate > 1 and (
      optimizers.OPTIMIZERS[optimizer].is_adaptive
      or cause == simulation.Cause.MODEL
    ):
      suspects = [server]
  told = ' or '.join(f'{name} {getattr(config, name):g}' for name in suspects)
  return f'{told} is too large'

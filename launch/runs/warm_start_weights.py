# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The weights of a block `warm_start`, from another run or a file."""

import os

from fedfish_tff import models
from launch.methods import adapters
from launch.methods import config as config_lib
from launch.runs import fine_tuning_start
from launch.runs import trained_run
from tasks.task import Task


def read(config: config_lib.Config, task: Task) -> fine_tuning_start.Start:
  """Reads the weights that a run begins with.

  Args:
    config: The config, with a block `warm_start`.
    task: The task, whose model must have the same tensors.

  Returns:
    The start, without rounds and costs.

  Raises:
    errors.InputError: If the weights cannot be read or do not fit.
  """
  path = os.path.expanduser(config.blocks['warm_start'].path)
  names = task.tensor_names
  if os.path.isdir(path):
    with trained_run.open_run(path) as (other, folder):
      result = trained_run.load_result(other, folder)
      _, weights = adapters.merge(
        other.config,
        other.task,
        other.model,
        other.process.get_model_weights(result.state),
      )
      tensors = models.name_weights(weights, other.task.tensor_names)
  else:
    tensors = models.read_weights(path, names)
  return fine_tuning_start.Start(
    models.fit_weights(
      task.create_checked_model(), tensors, tensor_names=names, source=path
    ),
    round_number=0,
    totals={},
  )

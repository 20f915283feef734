# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Common parts of the configs of language models: sizes and task fields."""

from collections.abc import Mapping
from typing import Any

from launch.configs import base

from ml_collections import config_dict

# Values of the axis size.
TINY: Mapping[str, Any] = {
  'task.model': 'transformer',
  'task.size': 'tiny',
  'task.sequence_length': 64,
  'task.eval_sequence_length': 64,
  'rounds': 100,
  'cohort_size': 8,
  'client_learning_rate': 0.05,
  'evaluate_every': 10,
  'checkpoint_every': 20,
}
RESULTS: Mapping[str, Any] = {
  **TINY,
  **base.FEW_ROUNDS,
  'task.sequence_length': 128,
  'task.eval_sequence_length': 128,
}


def create_config(
  variant: str, *, task: Mapping[str, Any], axes: base.Axes, **values: Any
) -> base.ConfigDict:
  """Returns a config of a language model.

  Args:
    variant: See `base.create_config`.
    task: The task's block, without the fields that all tasks of text have.
    axes: The task's own axes.
    **values: The task's values of other fields.

  Returns:
    The config.

  Raises:
    ValueError: If there is no such variant.
  """
  return base.create_config(
    variant,
    axes=axes,
    task={
      **task,
      # A file of launch.train_tokenizer; None for the task's own.
      'vocabulary': config_dict.placeholder(str),
      # Or bfloat16.
      'activation_dtype': 'float32',
      'cache_megabytes': 1024,
    },
    **values,
  )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the configs of language models share: sizes, web pages."""

from collections.abc import Mapping
from typing import Any

from launch.configs import base
from launch.configs import sweeps

from ml_collections import config_dict

# The paper's local epochs for text.
LOCAL_EPOCHS = (1, 16)

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
    task: The task's block, but for what the tasks of text have in common.
    axes: The task's own axes.
    **values: The task's values of fields.

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
    local_epochs=1,
    batch_size=4,
    max_examples_per_client=16,
    evaluation={'personalization_epochs': 4},
    **values,
  )


def create_web_config(
  name: str, variant: str, *, sizes: Mapping[str, Mapping[str, Any]]
) -> base.ConfigDict:
  """Returns a config of a language model on web pages, a client a domain.

  The fields are those of table 2 of the FedFish paper (arXiv 2311.10291) for
  C4.

  Args:
    name: The task, of `tasks.text.language.create_web_text_task`.
    variant: See `base.create_config`.
    sizes: Values of the axis size.

  Raises:
    ValueError: If there is no such variant.
  """
  return create_config(
    variant,
    axes={'size': sizes},
    task={
      'name': name,
      # Or rnn, TFF's recurrent baseline for Stack Overflow.
      'model': 'transformer',
      # Or 6x384, tiny.
      'size': '12x768',
      'sequence_length': 1024,
      'eval_sequence_length': 128,
      # Of the made-up pages.
      'num_generated_domains': 200,
    },
    rounds=10_000,
    cohort_size=8,
    client_learning_rate=1e-3,
    server_learning_rate=1e-2,
    evaluate_every=500,
    checkpoint_every=100,
  )


def comparison_sweeps(
  get_config: sweeps.GetConfig,
) -> dict[str, sweeps.MakeRuns]:
  """Returns the sweeps of a config with size=results, by name.

  `sweeps.ready_sweeps` of FedAvg and FedFish, both with Adam at the server, at
  the paper's local epochs for text.

  Args:
    get_config: The config of a variant.
  """
  return sweeps.ready_sweeps(
    get_config,
    methods=('fed_avg', 'fed_fish'),
    local_epochs=LOCAL_EPOCHS,
  )

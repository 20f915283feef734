# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the configs of language models share: variants named tiny, web pages."""

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from launch.configs import base
from launch.configs import sweeps

from ml_collections import config_dict

# The paper's local epochs for text.
LOCAL_EPOCHS = (1, 16)

_TINY = 'tiny'
_TINY_TASK: Mapping[str, Any] = {
  'model': 'transformer',
  'size': 'tiny',
  'sequence_length': 64,
  'eval_sequence_length': 64,
}
_TINY_FIELDS: Mapping[str, Any] = {
  'rounds': 100,
  'cohort_size': 8,
  'client_learning_rate': 0.05,
  'evaluate_every': 10,
  'checkpoint_every': 20,
}


def create_config(
  variant: str, *, task: Mapping[str, Any], **fields: Any
) -> base.ConfigDict:
  """Returns a config of a language model, or a tiny one for any machine.

  Args:
    variant: One of `base.VARIANTS`, or tiny_<variant> for a small model, short
      sequences and few rounds; tiny alone is tiny_fed_fish.
    task: The task's block, but for what the tasks of text have in common.
    **fields: The task's fields.

  Returns:
    The config.

  Raises:
    ValueError: If there is no such variant.
  """
  head, _, method = variant.partition('_')
  tiny = head == _TINY
  return base.create_config(
    (method or 'fed_fish') if tiny else variant,
    task={
      **task,
      # A file of launch.train_tokenizer; None for the task's own.
      'vocabulary': config_dict.placeholder(str),
      # Or bfloat16.
      'activation_dtype': 'float32',
      'cache_megabytes': 1024,
      **(_TINY_TASK if tiny else {}),
    },
    local_epochs=1,
    batch_size=4,
    max_examples_per_client=16,
    evaluation={'personalization_epochs': 4},
    **{**fields, **(_TINY_FIELDS if tiny else {})},
  )


def create_web_config(name: str, variant: str) -> base.ConfigDict:
  """Returns a config of a language model on web pages, a client a domain.

  The fields are those of table 2 of the FedFish paper (arXiv 2311.10291) for
  C4.

  Args:
    name: The task, of `tasks.language.create_web_text_task`.
    variant: See `create_config`.

  Raises:
    ValueError: If there is no such variant.
  """
  return create_config(
    variant,
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


def shorten(config: base.ConfigDict) -> base.ConfigDict:
  """Cuts a tiny config down to the runs of the `_results` configs, in place.

  Args:
    config: Of a variant tiny_<variant>.

  Returns:
    The same config.
  """
  base.shorten(config)
  config.task.update(sequence_length=128, eval_sequence_length=128)
  return config


def comparison_sweeps(
  get_config: Callable[[str], base.ConfigDict],
) -> dict[str, Callable[[], tuple[sweeps.Run, ...]]]:
  """Returns the sweeps of a `_results` config, by name.

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

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the configs share: all fields, and the variants of the algorithm."""

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

import ml_collections

ConfigDict = ml_collections.ConfigDict

# The rule of the paper, theta <- theta - eta_g * mean. Its published eta_g, 1e-3,
# would leave the weights where they are; 1 takes the mean as it is.
_PLAIN_SERVER_LEARNING_RATE = 1.0


def create_config(variant: str, **fields: Any) -> ConfigDict:
  """Returns a config with all fields.

  Args:
    variant: One of `VARIANTS`.
    **fields: The task's fields; what the variant asks for goes before them.

  Returns:
    The config.

  Raises:
    ValueError: If there is no such variant.
  """
  if variant not in VARIANTS:
    raise ValueError(
      f'there is no variant {variant!r}; expected one of {", ".join(VARIANTS)}'
    )
  config = ConfigDict(
    {
      'seed': 0,
      'algorithm': {},
      # Rounds between two evaluations, and between two checkpoints.
      'evaluate_every': 5,
      'checkpoint_every': 10,
      # 0 for no cap.
      'max_examples_per_client': 0,
      'participation': {'name': 'uniform'},
      'evaluation': {
        # Epochs on half of a held-out client's data, scored on the other; 0 to
        # leave personalisation out.
        'personalization_epochs': 1,
        # The client-server barrier on the round's cohort.
        'barrier': True,
      },
    }
  )
  config.update(fields)
  VARIANTS[variant](config)
  return config


def _fed_avg(config: ConfigDict) -> None:
  config.algorithm = ConfigDict(
    {
      'name': 'fed_avg',
      'client_optimizer': 'sgd',
      # Adam for all methods alike: see the docstring of build_fed_fish.
      'server_optimizer': 'adam',
      'client_weighting': 'num_examples',
    }
  )


def _fed_avg_sgd(config: ConfigDict) -> None:
  """FedAvg as McMahan et al. have it: the server takes the mean."""
  _fed_avg(config)
  _set_plain_server(config)


def _fed_sgd(config: ConfigDict) -> None:
  """FedSGD; the client's rate is then that of personalisation alone."""
  _fed_avg(config)
  config.algorithm.name = 'fed_sgd'
  config.local_epochs = 1


def _fed_fish(config: ConfigDict, **changes: Any) -> None:
  _fed_avg(config)
  config.algorithm.update(
    {
      'name': 'fed_fish',
      # Or per_example, sampled_label; see fedfish_tff/client_work/fisher.py.
      'fisher_estimator': 'batch_gradient',
      'fisher_normalization': 'sum',
      'damping': 0.0,
      'minimum_denominator': 0.0,
      # The column aggregator/cosine_to_mean: the cosine between this and
      # FedAvg's update, for a third sum of the model's size.
      'diagnostics': True,
      **changes,
    }
  )


def _paper_literal(config: ConfigDict) -> None:
  """FedFish as Algorithms 1 and 2 are written: plain steps at the server."""
  _fed_fish(config)
  _set_plain_server(config)


def _per_example(config: ConfigDict) -> None:
  _fed_fish(config, fisher_estimator='per_example')


def _sampled_label(config: ConfigDict) -> None:
  _fed_fish(config, fisher_estimator='sampled_label')


def _damped(config: ConfigDict) -> None:
  """FedFish that becomes FedAvg where clients have no Fisher information."""
  _fed_fish(config, fisher_normalization='mean', damping=1e-4)


def _set_plain_server(config: ConfigDict) -> None:
  config.algorithm.server_optimizer = 'sgd'
  config.server_learning_rate = _PLAIN_SERVER_LEARNING_RATE


VARIANTS: Mapping[str, Callable[[ConfigDict], None]] = {
  'fed_fish': _fed_fish,
  'fed_avg': _fed_avg,
  'fed_avg_sgd': _fed_avg_sgd,
  'fed_sgd': _fed_sgd,
  'paper_literal': _paper_literal,
  'per_example': _per_example,
  'sampled_label': _sampled_label,
  'damped': _damped,
}

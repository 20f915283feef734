# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the configs share: all fields, and the variants of the algorithm."""

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

import ml_collections

ConfigDict = ml_collections.ConfigDict

_Variant = Callable[[ConfigDict], None]

# The rule of the paper, theta <- theta - eta_g * mean. Its published eta_g, 1e-3,
# would leave the weights where they are; 1 takes the mean as it is.
_PLAIN_SERVER_LEARNING_RATE = 1.0


def create_config(
  variant: str, *, server_optimizer: str = 'adam', **fields: Any
) -> ConfigDict:
  """Returns a config with all fields.

  Args:
    variant: One of `VARIANTS`.
    server_optimizer: The task's, for variants that do not name another. Adam
      for all methods alike: see the docstring of `build_fed_fish`.
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
      'algorithm': {'server_optimizer': server_optimizer},
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


def shorten(config: ConfigDict) -> ConfigDict:
  """Cuts a config down to the runs of the `_results` configs, in place.

  Args:
    config: With all fields.

  Returns:
    The same config.
  """
  config.update(rounds=32, evaluate_every=4, checkpoint_every=16)
  if 'diagnostics' in config.algorithm:
    # A sum of the model's size and a column that nothing there needs.
    config.algorithm.diagnostics = False
  return config


def _fed_avg(config: ConfigDict) -> None:
  config.algorithm = ConfigDict(
    {
      'name': 'fed_avg',
      'client_optimizer': 'sgd',
      'server_optimizer': config.algorithm.server_optimizer,
      'client_weighting': 'num_examples',
    }
  )


def _fed_sgd(config: ConfigDict) -> None:
  """FedSGD; the client's rate is then that of personalisation alone."""
  _fed_avg(config)
  config.algorithm.name = 'fed_sgd'
  config.local_epochs = 1
  # Its clients train no models.
  config.evaluation.barrier = False


def _fed_prox(config: ConfigDict) -> None:
  """FedAvg whose clients are pulled back to where the round started."""
  _fed_avg(config)
  config.algorithm.update(
    # Li et al. (2020) tune it over 0.001, 0.01, 0.1 and 1.
    {'name': 'fed_prox', 'proximal_strength': 0.1}
  )


def _mime_lite(config: ConfigDict) -> None:
  """Mime Lite: the momentum is the server's, and clients step with it."""
  _fed_avg(config)
  config.algorithm.update({'name': 'mime_lite', 'client_optimizer': 'sgdm'})
  # All of a client's steps repeat the server's momentum, which adds up to ten
  # gradients (1 / (1 - 0.9)).
  config.client_learning_rate /= 10
  # As Karimireddy et al. (2021) have it: what adapts is the client's steps.
  _set_plain_server(config)
  # Its clients' own models depend on the server's momentum, which there is in
  # rounds only, so that nothing else can train them again.
  config.evaluation.barrier = False


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


def _with_plain_server(variant: _Variant) -> _Variant:
  """Returns a variant whose server takes the aggregate as it is."""

  def change(config: ConfigDict) -> None:
    variant(config)
    _set_plain_server(config)

  return change


def _with_server(optimizer: str, variant: _Variant) -> _Variant:
  """Returns a variant with a named server optimizer, at the task's rate."""

  def change(config: ConfigDict) -> None:
    variant(config)
    config.algorithm.server_optimizer = optimizer

  return change


VARIANTS: Mapping[str, _Variant] = {
  'fed_fish': _fed_fish,
  'fed_avg': _fed_avg,
  'fed_sgd': _fed_sgd,
  'fed_prox': _fed_prox,
  'mime_lite': _mime_lite,
  # FedAvg as McMahan et al. have it: the server takes the mean.
  'fed_avg_sgd': _with_plain_server(_fed_avg),
  'fed_avg_adam': _with_server('adam', _fed_avg),
  'fed_avg_yogi': _with_server('yogi', _fed_avg),
  # FedFish as Algorithms 1 and 2 are written: plain steps at the server.
  'paper_literal': _with_plain_server(_fed_fish),
  'fed_fish_sgd': _with_plain_server(_fed_fish),
  'fed_fish_adam': _with_server('adam', _fed_fish),
  'fed_fish_yogi': _with_server('yogi', _fed_fish),
  'per_example': _per_example,
  'per_example_sgd': _with_plain_server(_per_example),
  'sampled_label': _sampled_label,
  'sampled_label_sgd': _with_plain_server(_sampled_label),
  'damped': _damped,
  'damped_sgd': _with_plain_server(_damped),
}

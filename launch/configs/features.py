# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Configs of tasks whose model is a linear classifier on features.

All variants of `base`, and:

  fed3r        Fed3R: a ridge classifier from one visit to each client
  fed3r_rf     Fed3R-RF: the same on random Fourier features
  fed_ncm      FedNCM: nearest class mean
  fed_avg_lp   FedAvg of the classifier alone, a linear probe
  fed_fish_lp  FedFish of the classifier alone
  fed3r_ft, fed3r_ft_lp, fed3r_ft_feat
               FedAvg from Fed3R's classifier, in as many further rounds, of
               everything, the classifier, or the feature extractor
  fed3r_ft_fish, fed3r_ft_lp_fish, fed3r_ft_feat_fish
               FedFish in place of FedAvg
  fed3r_rf_ft_lp
               FedAvg of the classifier, from that of Fed3R-RF
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from launch.configs import base
from launch.configs import sweeps

from ml_collections import config_dict

# What is compared closely.
METHODS = ('fed3r_ft', 'fed3r_ft_lp', 'fed3r_ft_feat', 'fed_avg_lp')
# Of those, what trains the feature extractor, and so wants inputs before it.
TRAINS_EXTRACTOR = (
  'fed3r_ft',
  'fed3r_ft_feat',
  'fed3r_ft_fish',
  'fed3r_ft_feat_fish',
)
# Others of `sweeps.ready_sweeps` have rounds of their own, which may end before
# all clients came once and a fine-tuning starts.
_SWEEPS = ('seeds', 'variants', 'learning_rates')
# As the official code of Fed3R has them.
_FED3R = {
  'name': 'fed3r',
  'regularization': 0.01,
  # More than one lambda: the best on validation clients, after the last round.
  'regularization_path': (),
  # Or centered (not regularised), or none.
  'bias': 'regularized',
  'normalize_classes': True,
  'accumulator': 'float32',
}
# Its fine-tuning, as published.
_TEMPERATURE = 0.1
_WEIGHT_DECAY = 4e-5
_LEARNING_RATE = 0.01


def create_config(
  variant: str, *, visiting_rounds: int, **fields: Any
) -> base.ConfigDict:
  """Returns a config with all fields.

  Args:
    variant: One of `VARIANTS`, or of `base.VARIANTS`.
    visiting_rounds: In how many rounds all training clients come once.
    **fields: The task's fields, of `base.create_config`; what the variant asks
      for goes before them.

  Returns:
    The config.

  Raises:
    ValueError: If there is no such variant.
  """
  if variant in base.VARIANTS:
    return base.create_config(variant, **fields)
  if variant not in VARIANTS:
    known = ', '.join((*VARIANTS, *base.VARIANTS))
    raise ValueError(
      f'there is no variant {variant!r}; expected one of {known}'
    )
  config = base.create_config('fed_avg_sgd', **fields)
  VARIANTS[variant](config, visiting_rounds)
  return config


def create_network_config(
  variant: str,
  *,
  task: Mapping[str, Any],
  trained_from: str,
  visiting_rounds: int,
  **fields: Any,
) -> base.ConfigDict:
  """Returns a config of photographs on a pretrained network's features.

  Cohorts, batches, local epochs and rates are those of Fed3R's published
  fine-tuning.

  Args:
    variant: As for `create_config`.
    task: The task's own fields.
    trained_from: `inputs` of the task, where the extractor is trained, too:
      images, or a layer of the network.
    visiting_rounds: As for `create_config`.
    **fields: The other fields of the config.

  Returns:
    The config.

  Raises:
    ValueError: If there is no such variant.
  """
  return create_config(
    variant,
    visiting_rounds=visiting_rounds,
    task={
      **task,
      'inputs': trained_from if variant in TRAINS_EXTRACTOR else 'features',
      # The extractor's file, below --data_dir; None for its published name.
      'weights': config_dict.placeholder(str),
      'unit_features': True,
      # Where features are kept for other runs.
      'feature_dir': '~/.cache/fedfish_tff/features',
      'validation_fraction': 0.5,
    },
    server_optimizer='sgd',
    cohort_size=10,
    local_epochs=5,
    batch_size=64,
    client_learning_rate=0.01,
    server_learning_rate=1.0,
    **fields,
  )


def ready_sweeps(
  get_config: Callable[[str], base.ConfigDict], *, trains_extractor: bool = True
) -> dict[str, Callable[[], tuple[sweeps.Run, ...]]]:
  """Returns the sweeps that a task of features has, by name.

  `seeds`, `variants` and `learning_rates` of `sweeps.ready_sweeps`.

  Args:
    get_config: The config of a variant.
    trains_extractor: Whether the task has an extractor that can be trained.
  """

  def usable(variants: Iterable[str]) -> tuple[str, ...]:
    return tuple(
      v for v in variants if trains_extractor or v not in TRAINS_EXTRACTOR
    )

  ready = sweeps.ready_sweeps(
    get_config,
    methods=usable(METHODS),
    variants=usable((*VARIANTS, *base.VARIANTS)),
  )
  return {name: ready[name] for name in _SWEEPS}


def _closed_form(algorithm: Mapping[str, Any]) -> '_Variant':
  """Returns the variant that solves for the classifier."""

  def change(config: base.ConfigDict, visiting_rounds: int) -> None:
    config.algorithm = base.ConfigDict(algorithm)
    config.participation.name = 'visit_once'
    config.rounds = visiting_rounds
    config.local_epochs = 1
    # Clients train no model: there is nothing to step or to personalise.
    del config.client_learning_rate
    del config.server_learning_rate
    config.evaluation.update(personalization_epochs=0, barrier=False)

  return change


def _fine_tuned(
  strategy: str,
  start: Mapping[str, Any],
  *,
  temperature: float = _TEMPERATURE,
  base_variant: str = 'fed_avg_sgd',
) -> '_Variant':
  """Returns the variant that trains a part of the model from a start."""

  def change(config: base.ConfigDict, visiting_rounds: int) -> None:
    base.VARIANTS[base_variant](config)
    config.fine_tuning = base.ConfigDict(
      {
        'strategy': strategy,
        'temperature': temperature,
        'weight_decay': 0.0 if start == _NO_START else _WEIGHT_DECAY,
        'start': dict(start),
      }
    )
    if start != _NO_START:
      config.client_learning_rate = _LEARNING_RATE
      # The visits count.
      config.rounds += visiting_rounds

  return change


_Variant = Callable[[base.ConfigDict, int], None]
_NO_START = {'name': 'none'}

_FED3R_RF = {
  **_FED3R,
  'name': 'fed3r_rf',
  'num_random_features': 5000,
  # 0: the median distance between features of validation clients.
  'bandwidth': 0.0,
}
_STRATEGIES = ('ft', 'ft_lp', 'ft_feat')

VARIANTS: Mapping[str, _Variant] = {
  'fed3r': _closed_form(_FED3R),
  'fed3r_rf': _closed_form(_FED3R_RF),
  'fed_ncm': _closed_form(
    {'name': 'fed_ncm', 'distance': 'cosine', 'accumulator': 'float32'}
  ),
  'fed_avg_lp': _fine_tuned('ft_lp', _NO_START, temperature=1.0),
  'fed_fish_lp': _fine_tuned(
    'ft_lp', _NO_START, temperature=1.0, base_variant='fed_fish_sgd'
  ),
  **{f'fed3r_{name}': _fine_tuned(name, _FED3R) for name in _STRATEGIES},
  **{
    f'fed3r_{name}_fish': _fine_tuned(name, _FED3R, base_variant='fed_fish_sgd')
    for name in _STRATEGIES
  },
  'fed3r_rf_ft_lp': _fine_tuned('ft_lp', _FED3R_RF),
}

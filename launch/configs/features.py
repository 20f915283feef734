# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Common parts of configs with a linear classifier on features.

Their variants, as `base` describes them, are the methods with a closed form
(fed3r, fed3r_rf, fed_ncm) and those that train by gradients. With the axis
fine_tuning, the latter train a part of the model, from a start or from zero:
fed_avg,fine_tuning=ft_lp is a linear probe.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from launch.configs import base
from launch.configs import sweeps
from launch.methods import registry

# Fine-tuning from Fed3R's classifier: of the whole model, of the classifier,
# and of the features.
FT, FT_LP, FT_FEAT = (
  f'fed_avg,fine_tuning={strategy},start=fed3r'
  for strategy in ('ft', 'ft_lp', 'ft_feat')
)
LINEAR_PROBE = 'fed_avg,fine_tuning=ft_lp'
# The methods of sweeps other than `variants`.
METHODS = (FT, FT_LP, FT_FEAT, LINEAR_PROBE)
VARIANTS = (
  *registry.variants('fine_tuning_start'),
  LINEAR_PROBE,
  'fed_fish,fine_tuning=ft_lp',
  *METHODS[:3],
  *(method.replace('fed_avg', 'fed_fish') for method in METHODS[:3]),
  'fed_avg,fine_tuning=ft_lp,start=fed3r_rf',
)
# The values of Fed3R's published fine-tuning.
PUBLISHED: Mapping[str, Any] = {
  'cohort_size': 10,
  'local_epochs': 5,
  'batch_size': 64,
  'client_learning_rate': 0.01,
}
# The other sweeps of `sweeps.ready_sweeps` set the rounds, which may end before
# all clients have been visited and fine-tuning starts.
_SWEEPS = ('seeds', 'variants', 'learning_rates')


def trains_extractor(variant: str) -> bool:
  """Returns whether a variant fine-tunes the features, too."""
  _, axes = base.parse_variant(variant)
  return axes.get('fine_tuning') in ('ft', 'ft_feat')


def ready_sweeps(
  get_config: sweeps.GetConfig, *, has_extractor: bool = True
) -> dict[str, sweeps.MakeRuns]:
  """Returns the sweeps of a task of features, by name.

  They are `seeds`, `variants` and `learning_rates` of `sweeps.ready_sweeps`.

  Args:
    get_config: A function that returns the config of a variant.
    has_extractor: Whether the task has an extractor that can be trained.
  """

  def usable(variants: Iterable[str]) -> tuple[str, ...]:
    return tuple(
      v for v in variants if has_extractor or not trains_extractor(v)
    )

  ready = sweeps.ready_sweeps(
    get_config,
    methods=usable(METHODS),
    variants=usable((*VARIANTS, *sweeps.VARIANTS)),
  )
  return {name: ready[name] for name in _SWEEPS}

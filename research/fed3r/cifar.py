# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Fed3R on CIFAR-10 or -100 beside gradients, for docs/results_fed3r.md.

  python -m launch.sweep --config=research/fed3r/cifar.py:results \
    --sweep_dir=runs/fed3r_cifar10_results --data_dir=path/to/folder

and with results,images=cifar100 for CIFAR-100. Configs are those of
launch/configs/fed3r_cifar.py.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from launch.configs import features
from launch.configs import fed3r_cifar
from launch.configs import sweeps

# From clients of one class each to clients with nearly equal distributions.
_ALPHAS = (0.0, 0.1, 10.0)
_LAMBDAS = (0.001, 0.01, 0.1, 1.0, 10.0)
_LINEAR_PROBE_ROUNDS = 100
# The choices of `tuning`: lambda by the number of random features, and the
# client's rate of the methods that train the extractor.
_RANDOM_FEATURE_LAMBDAS = {1000: 0.1, 5000: 0.1}
_TUNED_RATE = 0.0001
# Around the published 0.1.
_TEMPERATURES = (0.01, 0.02, 0.05, 0.1)
_FINE_TUNING_RATES = (0.0001, 0.001, 0.01)

get_config = fed3r_cifar.get_config


def create_sweeps() -> dict[str, sweeps.MakeRuns]:
  """Returns the sweeps by name.

  `tuning`: the rates of methods that train the extractor and the lambdas of
    Fed3R-RF, with one seed at alpha 0.1.
  `results`: the closed forms and the published fine-tuning of the classifier,
    for all alphas and with every seed.
  `linear_tuning`, `linear`: the classifier trained from zeros, and from Fed3R's
    at several temperatures, with rates tuned for each alpha and temperature by
    other seeds; from zeros, by three, since single runs of clients of one class
    tell little.
  `fine_tuning`: the methods that train the extractor, at the published rate.
  `fine_tuning_tuned`: the same methods at the rate that `tuning` has chosen.
  """
  plain = {
    'evaluation.personalization_epochs': 0,
    'evaluation.barrier': False,
  }
  rate = 'client_learning_rate'
  alphas = {'task.alpha': _ALPHAS}
  everywhere = {**alphas, 'seed': sweeps.SEEDS}

  def tune() -> tuple[sweeps.Run, ...]:
    one = {'task.alpha': 0.1, **plain}
    return (
      *sweeps.grid(
        ['fed3r_rf'],
        {'algorithm.num_random_features': tuple(_RANDOM_FEATURE_LAMBDAS)},
        fixed={
          'algorithm.regularization_path': _LAMBDAS,
          'evaluate_every': fed3r_cifar.VISITING_ROUNDS,
          **one,
        },
      ),
      *sweeps.grid(
        [features.FT_FEAT, features.FT], {rate: _FINE_TUNING_RATES}, fixed=one
      ),
    )

  def linear(
    probe: Mapping[str, Sequence[Any]], fine_tuning: Mapping[str, Sequence[Any]]
  ) -> tuple[sweeps.Run, ...]:
    return (
      *sweeps.grid(
        [features.LINEAR_PROBE],
        {**alphas, **probe},
        fixed={
          'rounds': _LINEAR_PROBE_ROUNDS,
          'evaluate_every': 10,
          **plain,
        },
      ),
      *sweeps.grid(
        [features.FT_LP],
        {**alphas, 'fine_tuning.temperature': _TEMPERATURES, **fine_tuning},
        fixed=plain,
      ),
    )

  def random_features() -> tuple[sweeps.Run, ...]:
    return tuple(
      run
      for size, regularization in _RANDOM_FEATURE_LAMBDAS.items()
      for run in sweeps.grid(
        ['fed3r_rf'],
        everywhere,
        fixed={
          'algorithm.num_random_features': size,
          'algorithm.regularization': regularization,
          'evaluate_every': fed3r_cifar.VISITING_ROUNDS,
        },
      )
    )

  def train_extractor(**rates: float) -> tuple[sweeps.Run, ...]:
    return sweeps.grid(
      [features.FT_FEAT, features.FT], everywhere, fixed={**plain, **rates}
    )

  return {
    'tuning': tune,
    'results': lambda: (
      *sweeps.grid(
        ['fed3r'],
        everywhere,
        fixed={'algorithm.regularization_path': _LAMBDAS},
      ),
      *random_features(),
      *sweeps.grid(['fed_ncm'], everywhere),
      *sweeps.grid([features.FT_LP], everywhere, fixed=plain),
    ),
    'linear_tuning': lambda: linear(
      {rate: (0.1, 1.0, 10.0, 100.0, 1000.0), 'seed': (100, 101, 102)},
      {rate: _FINE_TUNING_RATES, 'seed': (100,)},
    ),
    'linear': lambda: linear(*[{'seed': sweeps.SEEDS}] * 2),
    'fine_tuning': train_extractor,
    'fine_tuning_tuned': lambda: train_extractor(
      client_learning_rate=_TUNED_RATE
    ),
  }


sweep = sweeps.choice(get_config, lambda _: create_sweeps())

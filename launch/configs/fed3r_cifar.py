# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Fed3R and compared methods on CIFAR-10 or -100 with SqueezeNet's features.

  python -m launch.train --config=launch/configs/fed3r_cifar.py:fed3r \
    --workdir=runs/cifar10_fed3r --data_dir=path/to/folder

and with fed3r,images=cifar100 for CIFAR-100. --data_dir holds the images and
SqueezeNet's published weights (see the task's module,
tasks/features/image_features.py); --config.task.images and
--config.task.weights name other files. Features are kept on disk: the first run
computes them for all others. launch/configs/base.py describes the variants.
docs/results.md has results of the sweeps, also with ,images=cifar100, with
their commands.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from launch.configs import base
from launch.configs import features
from launch.configs import sweeps

# From clients of one class each to clients with nearly equal distributions.
ALPHAS = (0.0, 0.1, 10.0)
# The rounds in which 100 training clients come once, in cohorts of 10.
VISITING_ROUNDS = 10
# The first trained layer: fire8's expansion, fire9 and the following layers
# have half of SqueezeNet's weights, for a tenth of a step's time.
_TRAINED_FROM = 'fire8/expand'
_LAMBDAS = (0.001, 0.01, 0.1, 1.0, 10.0)
# The numbers of random features of Fed3R-RF.
_SIZES = (1000, 5000)
_LINEAR_PROBE_ROUNDS = 100


# The choices of `tuning`: lambda by the number of random features, and the
# client's rate of the methods that train the extractor.
_RANDOM_FEATURE_LAMBDAS = {1000: 0.1, 5000: 0.1}
_TUNED_RATE = 0.0001
# Around the published 0.1.
_TEMPERATURES = (0.01, 0.02, 0.05, 0.1)
_FINE_TUNING_RATES = (0.0001, 0.001, 0.01)


def get_config(variant: str = 'fed3r') -> base.ConfigDict:
  """Returns the config of a variant of the method.

  The rates and rounds are those of Fed3R's published fine-tuning.

  Args:
    variant: The variant; see `base.create_config`.
  """
  inputs = _TRAINED_FROM if features.trains_extractor(variant) else 'features'
  return base.create_config(
    variant,
    axes={
      'images': {
        'cifar10': {},
        'cifar100': {
          'task.name': 'cifar100_features',
          'task.images': 'cifar100.sqlite',
        },
      }
    },
    task={
      'name': 'cifar10_features',
      'num_clients': 100,
      # 0: clients of one class each.
      'alpha': 0.0,
      'images': 'cifar10.npz',
      'extractor': 'squeezenet',
      'image_size': 128,
      'inputs': inputs,
      **features.network_fields(),
    },
    **features.PUBLISHED,
    visiting_rounds=VISITING_ROUNDS,
    rounds=10,
    evaluate_every=1,
    checkpoint_every=10,
  )


def feature_sweeps(get_config: sweeps.GetConfig) -> dict[str, sweeps.MakeRuns]:
  """Returns the sweeps of a config, by name.

  `tuning`: the rates of methods that train the extractor and the lambdas of
    Fed3R-RF, with one seed at alpha 0.1.
  `results`: the closed forms and the published fine-tuning of the classifier,
    for all ALPHAS and with every seed.
  `linear_tuning`, `linear`: the classifier trained from zeros, and from Fed3R's
    at several temperatures, with rates tuned for each alpha and temperature by
    other seeds; from zeros, by three, since single runs of clients of one class
    tell little.
  `fine_tuning`: the methods that train the extractor, at the published rate.
  `fine_tuning_tuned`: the same methods at the rate that `tuning` has chosen.

  Args:
    get_config: A function that returns the config of a variant.
  """
  del get_config
  plain = {
    'evaluation.personalization_epochs': 0,
    'evaluation.barrier': False,
  }
  rate = 'client_learning_rate'
  alphas = {'task.alpha': ALPHAS}
  everywhere = {**alphas, 'seed': sweeps.SEEDS}

  def tune() -> tuple[sweeps.Run, ...]:
    one = {'task.alpha': 0.1, **plain}
    return (
      *sweeps.grid(
        ['fed3r_rf'],
        {'algorithm.num_random_features': tuple(_RANDOM_FEATURE_LAMBDAS)},
        fixed={
          'algorithm.regularization_path': _LAMBDAS,
          'evaluate_every': VISITING_ROUNDS,
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
          'evaluate_every': VISITING_ROUNDS,
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


sweep = sweeps.choice(get_config, feature_sweeps)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Fed3R and compared methods on CIFAR-10 or -100 with SqueezeNet's features.

  python -m launch.train --config=launch/configs/fed3r_cifar.py:fed3r \
    --workdir=runs/cifar10_fed3r --data_dir=path/to/folder

and with fed3r,images=cifar100 for CIFAR-100. --data_dir holds the images and
SqueezeNet's published weights (see the task's module,
tasks/features/cifar10_features.py); --config.task.images and
--config.task.weights name other files. Features are kept on disk: the first run
computes them for all others. launch/configs/base.py describes the variants.
docs/results.md has results of the sweeps tuning, results, fine_tuning and
fine_tuning_tuned, also with ,images=cifar100, with their commands.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import functools
import types
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


# The choices of tuning: lambda by the number of random features, and the
# client's rate by variant.
_RANDOM_FEATURE_LAMBDAS = {1000: 0.1, 5000: 0.1}
_LEARNING_RATES = {
  features.LINEAR_PROBE: 10.0,
  features.FT_LP: 0.0001,
  features.FT_FEAT: 0.0001,
  features.FT: 0.0001,
}
_CIFAR100_LEARNING_RATES = {**_LEARNING_RATES, features.LINEAR_PROBE: 100.0}


def get_config(variant: str = 'fed3r') -> base.ConfigDict:
  """Returns the config of a variant of the method.

  The rates and rounds are those of Fed3R's published fine-tuning.

  Args:
    variant: The variant; see `base.create_config`.
  """
  return features.create_network_config(
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
    },
    trained_from=_TRAINED_FROM,
    visiting_rounds=VISITING_ROUNDS,
    rounds=10,
    evaluate_every=1,
    checkpoint_every=10,
  )


def feature_sweeps(
  get_config: sweeps.GetConfig,
  *,
  learning_rates: Mapping[str, float] = types.MappingProxyType(_LEARNING_RATES),
) -> dict[str, sweeps.MakeRuns]:
  """Returns the sweeps of a config, by name.

  `tuning`: the rates of methods trained by gradients and the lambdas of
    Fed3R-RF, with one seed at alpha 0.1.
  `results`: every method that does not train the extractor, for all ALPHAS and
    with every seed.
  `fine_tuning`: the methods that train the extractor, at the published rate.
  `fine_tuning_tuned`: the same methods at the rate that `tuning` has chosen.

  Args:
    get_config: A function that returns the config of a variant.
    learning_rates: The client's rate by variant, as chosen by `tuning`;
      `results` also has the published rate of the fine-tuning.
  """
  plain = {
    'evaluation.personalization_epochs': 0,
    'evaluation.barrier': False,
  }
  probe = {'rounds': _LINEAR_PROBE_ROUNDS, 'evaluate_every': 10}

  def tune() -> tuple[sweeps.Run, ...]:
    one = {'task.alpha': 0.1, **plain}
    rates = 'client_learning_rate'
    return (
      *sweeps.grid(
        ['fed3r_rf'],
        {'algorithm.num_random_features': _SIZES},
        fixed={
          'algorithm.regularization_path': _LAMBDAS,
          'evaluate_every': VISITING_ROUNDS,
          **one,
        },
      ),
      *sweeps.grid(
        [features.LINEAR_PROBE],
        {rates: (1.0, 10.0, 100.0)},
        fixed={**one, **probe},
      ),
      *sweeps.grid(
        [features.FT_LP, features.FT_FEAT, features.FT],
        {rates: (0.0001, 0.001, 0.01)},
        fixed=one,
      ),
    )

  def everywhere(
    variants: Sequence[str], fixed: Mapping[str, Any]
  ) -> tuple[sweeps.Run, ...]:
    return sweeps.grid(
      variants, {'task.alpha': ALPHAS, 'seed': sweeps.SEEDS}, fixed=fixed
    )

  def trained(variant: str, fixed: Mapping[str, Any]) -> tuple[sweeps.Run, ...]:
    rate = {'client_learning_rate': learning_rates[variant]}
    return everywhere([variant], {**plain, **rate, **fixed})

  def random_features() -> tuple[sweeps.Run, ...]:
    return tuple(
      run
      for size, regularization in _RANDOM_FEATURE_LAMBDAS.items()
      for run in everywhere(
        ['fed3r_rf'],
        {
          'algorithm.num_random_features': size,
          'algorithm.regularization': regularization,
          'evaluate_every': VISITING_ROUNDS,
        },
      )
    )

  return {
    'tuning': tune,
    'results': lambda: (
      *everywhere(['fed3r'], {'algorithm.regularization_path': _LAMBDAS}),
      *random_features(),
      *everywhere(['fed_ncm'], {}),
      *trained(features.LINEAR_PROBE, probe),
      *everywhere([features.FT_LP], plain),
      *trained(features.FT_LP, {}),
    ),
    'fine_tuning': lambda: everywhere([features.FT_FEAT, features.FT], plain),
    'fine_tuning_tuned': lambda: (
      *trained(features.FT_FEAT, {}),
      *trained(features.FT, {}),
    ),
  }


sweep = sweeps.choice(
  get_config,
  feature_sweeps,
  {
    'images=cifar100': functools.partial(
      feature_sweeps, learning_rates=_CIFAR100_LEARNING_RATES
    )
  },
)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the configs of photographs on a pretrained network's features share."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from launch.configs import base
from launch.configs import features
from launch.configs import sweeps

# From clients of one class each to clients that are nearly alike.
ALPHAS = (0.0, 0.1, 10.0)
# 100 training clients in cohorts of 10.
VISITING_ROUNDS = 10
# Where the model's trained part begins: fire8's expansion, fire9 and what
# follows are half of SqueezeNet's weights, for a tenth of a step's time.
_TRAINED_FROM = 'fire8/expand'
_LAMBDAS = (0.001, 0.01, 0.1, 1.0, 10.0)
# Of Fed3R-RF.
_SIZES = (1000, 5000)
_LINEAR_PROBE_ROUNDS = 100


def create_config(variant: str, task: str, images: str) -> base.ConfigDict:
  """Returns a config of CIFAR-10's or CIFAR-100's features.

  Rates and rounds are those of Fed3R's published fine-tuning.

  Args:
    variant: See `base.create_config`.
    task: The task.
    images: Its file of images.
  """
  return features.create_network_config(
    variant,
    task={
      'name': task,
      'num_clients': 100,
      # 0: clients of one class each.
      'alpha': 0.0,
      'images': images,
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
  random_feature_lambdas: Mapping[int, float],
  learning_rates: Mapping[str, float],
) -> dict[str, sweeps.MakeRuns]:
  """Returns the sweeps of a config, by name.

  `tuning`: rates of what is trained by gradients, and lambdas of Fed3R-RF, one
    seed at alpha 0.1.
  `results`: every method but those that train the extractor, for clients of one
    class to clients that are alike, with every seed.
  `fine_tuning`: those that train the extractor, at the published rate.
  `fine_tuning_tuned`: the same at the rate that `tuning` has chosen.

  Args:
    get_config: The config of a variant.
    random_feature_lambdas: By the number of random features, what `tuning` has
      chosen.
    learning_rates: The client's rate by variant, what `tuning` has chosen; of
      a fine-tuning, `results` has the published one, too.
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
      for size, regularization in random_feature_lambdas.items()
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

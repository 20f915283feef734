# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Fed3R and compared methods on CIFAR-10 or -100 with SqueezeNet's features.

  python -m launch.train --config=launch/configs/fed3r_cifar.py:fed3r \
    --workdir=runs/cifar10_fed3r --data_dir=path/to/folder

and with fed3r,images=cifar100 for CIFAR-100. --data_dir holds the images and
SqueezeNet's published weights, as tasks/features/image_features.py describes;
--config.task.images and --config.task.weights name other files. Features are
kept on disk: the first run computes them for all others. launch/configs/base.py
describes the variants.
research/fed3r/cifar.py has the sweeps of docs/results_fed3r.md.
"""

from launch.configs import base
from launch.configs import features

_IMAGES = ('cifar10', 'cifar100')
# The rounds in which 100 training clients come once, in cohorts of 10.
VISITING_ROUNDS = 10
# The first trained layer: fire8's expansion, fire9 and the following layers
# have half of SqueezeNet's weights, for a tenth of a step's time.
_TRAINED_FROM = 'fire8/expand'


def get_config(variant: str = 'fed3r') -> base.ConfigDict:
  """Returns the config of a variant of the method.

  The rates and rounds are those of Fed3R's published fine-tuning. A variant is
  that of `base.create_config`.
  """
  images = base.value_of('images', variant, _IMAGES)
  inputs = _TRAINED_FROM if features.trains_extractor(variant) else 'features'
  return base.create_config(
    variant,
    axes={'images': dict.fromkeys(_IMAGES, {})},
    task={'name': f'{images}_features', 'inputs': inputs},
    **features.PUBLISHED,
    visiting_rounds=VISITING_ROUNDS,
    rounds=10,
    evaluate_every=1,
    checkpoint_every=10,
  )

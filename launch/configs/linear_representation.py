# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""FedRep and SRPFL on clients with linear functions of a common subspace.

  python -m launch.train --config=launch/configs/linear_representation.py:fed_rep,speeds=exponential \
    --workdir=runs/linear_fed_rep
  python -m launch.train --config=launch/configs/linear_representation.py:fed_rep,participation=srpfl \
    --workdir=runs/linear_srpfl

Heads and representation are trained by epochs of SGD on fixed examples, as
FedRep trains any model. All 64 clients take part in each round, or first the
fastest 8, and twice as many after every 15 rounds. eval/personalized/mse is
that of held-out clients that fit their own head: with seed 0, expect less than
0.2 after 187 simulated seconds of FedRep and 4 of SRPFL; without a head it is
2.3.
research.srpfl.linear_representation_figure has the theory's algorithm instead,
with new examples in every round. launch/configs/base.py explains the variants.
"""

from launch.configs import base


def get_config(variant: str = 'fed_rep') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  config = base.create_config(
    variant,
    task={'name': 'linear_representation'},
    rounds=60,
    cohort_size=64,
    local_epochs=11,
    batch_size=10,
    client_learning_rate=0.1,
  )
  config.evaluation.personalization_epochs = 10
  if config.participation.name == 'srpfl':
    config.participation.update(n0=8, rounds_per_stage=15)
  return config

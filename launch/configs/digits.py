# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Handwritten digits, non-IID clients, many local epochs; a minute or less.

  python -m launch.train --config=launch/configs/digits.py:fed_fish \
    --workdir=runs/digits_fed_fish

and the same with :fed_avg to compare (launch.plot draws both). Other variants,
such as fed_avg_sgd, fed_prox, mime_lite, paper_literal or per_example, are
listed in launch/configs/base.py.

Expect, with seed 0, an accuracy of 0.925 on the 8 test clients for fed_fish and
of 0.958 for fed_avg. With Adam at the server and 50 rounds both have converged,
and one seed on few clients does not tell them apart; `make demo` shows plain
server steps and fewer rounds over three seeds, where they differ.

Many runs, with a table over seeds: python -m launch.sweep --help. What unlike
clients change:

  python -m launch.sweep --config=launch/configs/digits.py:heterogeneity \
    --sweep_dir=runs/digits_heterogeneity
"""

from collections.abc import Sequence
import functools

from launch.configs import base
from launch.configs import sweeps


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return base.create_config(
    variant,
    task={
      'name': 'digits',
      'num_clients': 40,
      # Few of the ten labels per client; large values make clients alike.
      'alpha': 0.1,
      'hidden_units': (64,),
      'validation_fraction': 0.2,
      'test_fraction': 0.2,
    },
    rounds=50,
    cohort_size=5,
    local_epochs=16,
    batch_size=10,
    client_learning_rate=0.05,
    server_learning_rate=0.03,
  )


def sweep(name: str) -> Sequence[sweeps.Run]:
  """Returns the runs of a sweep: `sweeps.ready_sweeps`, or `heterogeneity`.

  `heterogeneity`: plain steps at the server, clients of few digits to clients
  that are all alike, in the 20 rounds of `make demo`.
  """
  heterogeneity = functools.partial(
    sweeps.grid,
    ('fed_avg_sgd', 'fed_fish_sgd', 'per_example_sgd'),
    {'task.alpha': (0.1, 1.0, 100.0), 'seed': (0, 1, 2, 3, 4)},
    fixed={'rounds': 20, 'evaluate_every': 2},
  )
  return sweeps.select(
    name,
    {**sweeps.ready_sweeps(get_config), 'heterogeneity': heterogeneity},
  )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Handwritten digits, non-IID clients, many local epochs; a minute or less.

  python -m launch.train --config=launch/configs/digits.py:fed_fish \
    --workdir=runs/digits_fed_fish

and the same with :fed_avg for comparison (launch.plot draws both). Other
variants are fed_prox, mime_lite, per_example, and with Adam at the server
fed_avg,server=adam (FedAdam) and so on; launch/configs/base.py explains them.

Expect, with seed 0, an accuracy of 0.939 on the 8 test clients for fed_fish and
for fed_avg, and of 0.944 for FedAdam. In 50 rounds all converge, and one seed on
few clients does not tell them apart; `make demo` shows fewer rounds over three
seeds, where they differ.

Many runs, with a table over seeds: python -m launch.sweep --help. The effect of
heterogeneous clients:

  python -m launch.sweep --config=launch/configs/digits.py:heterogeneity \
    --sweep_dir=runs/digits_heterogeneity

size=tpu is for a TPU VM; docs/tpu.md says how to set one up:

  python -m launch.train --config=launch/configs/digits.py:fed_fish,size=tpu \
    --workdir=runs/digits_tpu --context=pjrt --platform=tpu

XLA compiles client work for each power of two of rows and of clients. Every
client uses one batch of at most 16 of its examples per round (a new choice each
round), so there are few programs. It has run on a CPU,
compiled by XLA (--platform=cpu), but not yet on a TPU, so no time is promised.
On the CPU, with seed 0, expect an accuracy of 0.891 on the 8 test clients.
"""

from launch.configs import base
from launch.configs import sweeps

_SIZES = {'tpu': {'batch_size': 16, 'max_examples_per_client': 16}}


def get_config(variant: str = 'fed_fish') -> base.ConfigDict:
  """Returns the config of a variant of the algorithm."""
  return base.create_config(
    variant,
    axes={'size': _SIZES},
    task={'name': 'digits'},
    rounds=50,
    cohort_size=5,
    local_epochs=16,
    batch_size=10,
    client_learning_rate=0.05,
    adaptive_server_rate=0.03,
  )


def _create_sweeps(get_config: sweeps.GetConfig) -> dict[str, sweeps.MakeRuns]:
  """Returns `sweeps.ready_sweeps`, and one of this task.

  `heterogeneity` has clients of few digits up to clients that are all alike,
  and the 20 rounds of `make demo`.
  """
  return {
    **sweeps.ready_sweeps(get_config),
    'heterogeneity': lambda: sweeps.grid(
      sweeps.ESTIMATORS[:3],
      {'task.alpha': (0.1, 1.0, 100.0), 'seed': (0, 1, 2, 3, 4)},
      fixed={'rounds': 20, 'evaluate_every': 2},
    ),
  }


sweep = sweeps.choice(get_config, _create_sweeps)

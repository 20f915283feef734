# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains FedAvg and FedFish on real handwritten digits and draws the results.

  make demo

Each client holds few of the ten digits and trains for many local epochs, which
is where the mean of the models (FedAvg) suffers. Both methods start from the
same weights, see the same clients and batches and use the same learning rates,
with the paper's plain server steps. Every run is a workdir of launch.train in
runs/demo, evaluated by launch.evaluate; runs/demo/plots compares them. The
paper's toy figure (launch.toy_figure) comes last. A stopped demo resumes where
it was.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import pathlib

from fedfish_tff.execution import contexts
from launch import cli
from launch.configs import base
from launch.configs import digits
from launch.methods import config_checks

import tqdm

_FOLDER = pathlib.Path('runs/demo')
_SEEDS = 3
_ROUNDS = 20
_TOY_SEEDS = 8
_VARIANTS = ('fed_avg', 'fed_fish')
_METRIC = 'eval/global/accuracy'


def create_configs() -> Iterator[tuple[str, base.ConfigDict]]:
  """Yields (name of the workdir, config) of every run."""
  for seed in range(_SEEDS):
    for variant in _VARIANTS:
      config = digits.get_config(variant)
      config.seed = seed
      config.rounds = _ROUNDS
      config.evaluate_every = 2
      config.checkpoint_every = 10
      yield f'{variant}_seed{seed}', config


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  # Imported late: TFF takes seconds, and all above answers at once.
  cli.report_import()
  from launch.plots import comparison  # pylint: disable=g-import-not-at-top
  from launch.runs import evaluation_run  # pylint: disable=g-import-not-at-top
  from launch.runs import toy_regression_study  # pylint: disable=g-import-not-at-top
  from launch.runs import training_run  # pylint: disable=g-import-not-at-top

  configs = dict(create_configs())
  for name, config in tqdm.tqdm(
    configs.items(), desc='digits', unit='run', disable=None, dynamic_ncols=True
  ):
    contexts.set_default_context()
    training_run.train(
      config_checks.read(config.to_dict()),
      training_run.RunOptions(workdir=_FOLDER / name),
    )
    evaluation_run.evaluate(_FOLDER / name)
  comparison.compare_workdirs(
    [_FOLDER / name for name in configs], _FOLDER / 'plots', metric=_METRIC
  )
  toy_regression_study.draw(
    _FOLDER / 'plots', seeds=_TOY_SEEDS, estimator='batch_gradient'
  )


if __name__ == '__main__':
  cli.run(main)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Trains FedAvg and FedFish on real handwritten digits and draws the results.

  make demo

or, with another place or more seeds:

  python -m launch.demo --output_dir=runs/demo --seeds=5

Each client holds few of the ten digits and trains for many local epochs, which
is where the mean of the models (FedAvg) suffers. Both methods start from the
same weights, see the same clients and batches and use the same learning rates,
with the paper's plain server steps. Every run is a workdir of launch.train,
evaluated by launch.evaluate; plots/ compares them. The paper's toy figure
(launch.toy_figure) comes last. A stopped demo resumes where it was.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import pathlib

from fedfish_tff.execution import contexts
from launch import cli
from launch import context_flag
from launch import path_flags
from launch.configs import base
from launch.configs import digits
from launch.methods import config_checks

from absl import flags
import tqdm

_OUTPUT_DIR = path_flags.define(
  'output_dir', 'runs/demo', 'The folder for all output.'
)
_SEEDS = flags.DEFINE_integer(
  'seeds', 3, 'Seeds of partition, cohorts, batches and weights.', lower_bound=1
)
_ROUNDS = flags.DEFINE_integer('rounds', 20, 'Rounds per run.', lower_bound=1)
_TOY_SEEDS = flags.DEFINE_integer(
  'toy_seeds', 8, 'Seeds of the toy figure; 0 to leave it out.', lower_bound=0
)
_CONTEXT = context_flag.define()

_VARIANTS = ('fed_avg', 'fed_fish')
_METRIC = 'eval/global/accuracy'


def create_configs(
  *, seeds: int, rounds: int
) -> Iterator[tuple[str, base.ConfigDict]]:
  """Yields (name of the workdir, config) of every run."""
  for seed in range(seeds):
    for variant in _VARIANTS:
      config = digits.get_config(variant)
      config.seed = seed
      config.rounds = rounds
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

  folder = pathlib.Path(_OUTPUT_DIR.value)
  configs = dict(create_configs(seeds=_SEEDS.value, rounds=_ROUNDS.value))
  for name, config in tqdm.tqdm(
    configs.items(), desc='digits', unit='run', disable=None, dynamic_ncols=True
  ):
    contexts.set_default_context(_CONTEXT.value)
    training_run.train(
      config_checks.read(config.to_dict()),
      training_run.RunOptions(workdir=folder / name),
    )
    evaluation_run.evaluate(folder / name)
  comparison.compare_workdirs(
    [folder / name for name in configs], folder / 'plots', metric=_METRIC
  )
  if _TOY_SEEDS.value:
    toy_regression_study.draw(
      folder / 'plots', seeds=_TOY_SEEDS.value, estimator='batch_gradient'
    )


if __name__ == '__main__':
  cli.run(main)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Preparation of a workdir for more rounds than its run had.

The run goes on from its last checkpoint, and ends with the weights of a run of
all the rounds, bit for bit; the row of its earlier last round keeps its
evaluation. What an evaluation decides on, and a half-way checkpoint, must be
those of a run of all the rounds, which such a run goes back for.
"""

from fedfish_tff import simulation
from launch.results import text_table
from launch.runs import experiment as experiment_lib


def prepare(
  experiment: experiment_lib.Experiment, folder: simulation.Workdir
) -> None:
  """Makes the run of a workdir one of the experiment's rounds.

  They are as many as the workdir's, or more.
  """
  rounds, before = experiment.config.rounds, folder.read_config()['rounds']
  if rounds == before:
    return
  checkpoint = find_checkpoint(experiment, folder, before)
  folder.lengthen(rounds, go_back_to=checkpoint)
  simulation.report_line(
    f'The run of {text_table.count(before, "round")} goes on to {rounds}, from '
    + (
      'the beginning, since it has no checkpoint that such a run has, too.'
      if checkpoint < 0
      else f'round {checkpoint}.'
      if checkpoint == before
      else f'round {checkpoint}, its newest checkpoint that such a run has, too.'
    )
  )


def find_checkpoint(
  experiment: experiment_lib.Experiment, folder: simulation.Workdir, before: int
) -> int:
  """Returns the newest round to go on from; -1 for the beginning.

  `before` is the number of rounds that the run had.
  """
  kept = folder.checkpoint_rounds()
  rows = simulation.read_rows(folder.metrics_path) if kept else []
  # After its last round, a run evaluates, which may decide on the best round,
  # and chooses among lambdas.
  config = experiment.config
  ends_alike = experiment.built.solve_path is None and (
    config.deciding is None or before % config.evaluate_every == 0
  )
  for checkpoint in reversed(kept):
    if checkpoint > before or (checkpoint == before and not ends_alike):
      continue
    stopping = experiment.build_stopping(
      row for row in rows if row['round'] <= checkpoint
    )
    also_kept = {experiment.half_round, stopping and stopping.best_round}
    also_kept.discard(None)
    if all(r in kept for r in also_kept if r < checkpoint):
      return checkpoint
  return -1

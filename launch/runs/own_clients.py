# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of training clients' scores on their own test data."""

import functools
import pathlib

from fedfish_tff import simulation
from launch.results import checked_tables
from launch.results import run_reader
from launch.runs import experiment as experiment_lib
from launch.runs import held_out_evaluation
from launch.runs import tuned_evaluation


def write(
  experiment: experiment_lib.Experiment,
  folder: simulation.Workdir,
  result: simulation.TrainingResult,
  client_states: simulation.ClientStateStore | None,
  rate: float,
) -> list[pathlib.Path]:
  """Writes own_clients.csv and returns its path.

  A row per training client with test data of its own holds `num_examples` and
  `<group>/<metric>`, for the groups of `evaluation.OwnDataEvaluation`.

  Args:
    experiment: The trained experiment.
    folder: The workdir that gets the table.
    result: The result of the round of the model.
    client_states: The clients' states after that round; None without any.
    rate: The learning rate of fine-tuning, as for
      `tuned_evaluation.tuned_with`.

  Returns:
    The path of the table; no path for a task without such data.
  """
  own = experiment.build_own_data_evaluation(experiment.task.train)
  if own is None:
    return []
  round_number = result.round_number
  load = client_states and functools.partial(
    client_states.load, round_number=round_number
  )
  with tuned_evaluation.tuned_with(experiment, rate):
    scores = own.score_clients(result.state, load)
  rows: held_out_evaluation.Rows = {}
  for group, of_clients in scores.items():
    for client_id, metrics in zip(own.client_ids, of_clients, strict=True):
      row = rows.setdefault(client_id, {})
      row['num_examples'] = int(metrics['num_examples'])
      row |= held_out_evaluation.metric_columns(group, metrics)
  path = folder.path / run_reader.OWN_CLIENTS_CSV
  simulation.make_folder(path.parent)
  table = held_out_evaluation.rows_to_csv(
    rows, round_number=round_number, split='train'
  )
  checked_tables.write_tables({path: table})
  return [path]

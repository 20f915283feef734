# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluates a checkpoint of a workdir and writes the results."""

from collections.abc import Mapping
import functools
import os
import pathlib
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import parameters
from fedfish_tff import simulation
from fedfish_tff import trust as trust_lib
from fedfish_tff.evaluation import metric_names
from launch.plots import catalogue
from launch.results import run_reader
from launch.results import text_table
from launch.runs import experiment as experiment_lib
from launch.runs import export as export_lib
from launch.runs import held_out_evaluation
from launch.runs import own_clients
from launch.runs import run_summary
from launch.runs import trained_run
from launch.runs import tuned_evaluation

from absl import logging
import pandas as pd


def evaluate(
  workdir: str | os.PathLike[str],
  *,
  split: str = 'test',
  export: bool = False,
  at: str | None = None,
  data_dir: str | None = None,
  trust: trust_lib.Trust = trust_lib.NONE,
) -> list[pathlib.Path]:
  """Evaluates a workdir's model on held-out clients and writes its tables.

  Names of tables begin with the split, unless that is test.

  Args:
    workdir: A workdir with at least one checkpoint.
    split: `'test'` or `'validation'`.
    export: Whether to write the model and its weights, too.
    at: The model's name in `model_rounds.ROUNDS`; None for the run's model.
    data_dir: The folder of the data; None for that of training.
    trust: The trust in the programs that the workdir's config names.

  Returns:
    The paths of the written files.
  """
  with trained_run.open_run(workdir, data_dir=data_dir, trust=trust) as (
    experiment,
    folder,
  ):
    result = trained_run.load_result(experiment, folder, at)
    # Made first, since an unwritable folder would waste the work.
    simulation.make_folder(folder.path / 'evaluation')
    clients = getattr(experiment.task, split)
    print(
      f'{workdir}: model of round {result.round_number} of '
      f'{experiment.config.rounds}, {len(clients.client_ids)} {split} clients'
    )
    summary = folder.read_summary()
    if (first := run_reader.diverged_round(summary)) is not None:
      told = 'The run is no result. '
      if not run_reader.is_diverged(first, result.round_number):
        told = 'This model is of a round before. '
      print(f'{told}{run_summary.tell_divergence(summary)}.')
    rate = tuned_evaluation.choose_rate(experiment, result.state)
    rows, summaries = _evaluate_clients(
      experiment, result, clients, split, rate
    )
    tables = {
      run_reader.CLIENTS_CSV: held_out_evaluation.rows_to_csv(
        rows, round_number=result.round_number, split=split
      )
    }
    if experiment.config.evaluation.barrier:
      table, barrier_summaries = _evaluate_barrier(experiment, result, folder)
      tables['evaluation/barrier.csv'] = table
      summaries += barrier_summaries
    # A statistic over no client is empty.
    tables['evaluation/summary.csv'] = text_table.frame_to_csv(
      pd.DataFrame(summaries)
    )
    print(held_out_evaluation.format_summaries(summaries))
    paths = trained_run.write_tables(folder.path, split, tables)
    paths += _write_own_clients(experiment, result, folder, rate)
    if export:
      paths += _export(
        experiment, result, simulation.make_folder(folder.path / 'export')
      )
    return paths + catalogue.plot_workdir(folder.path)


def _write_own_clients(
  experiment: experiment_lib.Experiment,
  result: simulation.TrainingResult,
  folder: simulation.Workdir,
  rate: float,
) -> list[pathlib.Path]:
  """Scores training clients on their own test data, if the task has some."""
  if experiment.task.own_test is None:
    return []
  simulation.report_step("Scoring training clients' own test data")
  return own_clients.write(
    experiment, folder, result, _open_states(experiment, result, folder), rate
  )


def _open_states(
  experiment: experiment_lib.Experiment,
  result: simulation.TrainingResult,
  folder: simulation.Workdir,
) -> simulation.ClientStateStore | None:
  """Opens and checks the clients' states after a round, if they have any."""
  client_states = experiment.open_client_states(folder.client_states_path)
  if client_states is not None:
    client_states.check(
      result.round_number,
      result.client_states_digest,
      (
        (earlier, experiment.participation(earlier))
        for earlier in range(result.round_number, experiment.first_round, -1)
      ),
    )
  return client_states


def _evaluate_clients(
  experiment: experiment_lib.Experiment,
  result: simulation.TrainingResult,
  clients: datasets.ClientData,
  split: str,
  rate: float,
) -> tuple[held_out_evaluation.Rows, list[Mapping[str, Any]]]:
  """Returns the held-out clients' rows and statistics over them."""
  weights = experiment.process.get_model_weights(result.state)
  scores = held_out_evaluation.score_all_examples(experiment, weights, clients)
  rows, pooled = scores.rows, scores.totals
  if experiment.built.train_apart is not None:
    ensemble = held_out_evaluation.score_ensemble(experiment, clients)
    if ensemble is not None:
      pooled |= ensemble.totals
      for client_id, row in ensemble.rows.items():
        rows[client_id].update(row)
  personalized = experiment.fine_tune_spec is not None
  if personalized:
    simulation.report_step('Fine-tuning on parts of their examples')
    with tuned_evaluation.tuned_with(experiment, rate):
      by_share = held_out_evaluation.score_shares(experiment, weights, clients)
    for client_id, row in by_share.rows.items():
      rows[client_id].update(row)
  summarize = functools.partial(
    held_out_evaluation.summarize, round_number=result.round_number, split=split
  )
  summaries = []
  # Counts by pairs of classes are in the clients' rows only.
  metrics = [n for n in pooled['global'] if not metric_names.is_count(n)]
  directions = held_out_evaluation.metric_directions(metrics, experiment.task)
  for metric, higher in directions.items():
    summaries += [
      summarize(
        name, rows, metric, higher_is_better=higher, all_examples=totals[metric]
      )
      for name, totals in pooled.items()
    ]
    if not personalized:
      continue
    for name in run_reader.FEW_SHOT_COLUMNS.values():
      summaries.append(summarize(name, rows, metric, higher_is_better=higher))
    summaries.append(
      summarize('after', rows, metric, higher_is_better=higher, minus='before')
    )
  return rows, summaries


def _evaluate_barrier(
  experiment: experiment_lib.Experiment,
  result: simulation.TrainingResult,
  folder: simulation.Workdir,
) -> tuple[bytes, list[Mapping[str, Any]]]:
  """Returns the table and statistics of the barrier of one more round.

  The round starts from the checkpoint and is not kept. The checkpoint's own
  barrier is in metrics.csv; the start of its round is no longer on disk. Beyond
  the config's last round, learning rates stay those of that round.
  """
  simulation.report_step('Measuring the barrier of one more round')
  process = experiment.process
  round_number = result.round_number + 1
  cohort = experiment.load_cohort(round_number)
  client_states = _open_states(experiment, result, folder)
  directions = held_out_evaluation.metric_directions(
    ['loss', experiment.task.metric], experiment.task
  )
  rows = simulation.read_rows(folder.metrics_path)
  hooks = experiment.build_hooks()
  for hook in hooks:
    # Those that decide on cohorts have seen the rows.
    if hook not in experiment.cohorts.hooks:
      hook.observe_rows(rows)
  with parameters.replaced(
    experiment_lib.round_parameters(
      hooks, min(round_number, experiment.config.rounds)
    )
  ):
    output = simulation.run_round(
      process, result.state, cohort, round_number, client_states
    )
    scores = experiment.build_barrier().score_clients(
      simulation.training_weights(process, result.state),
      simulation.training_weights(process, output.state),
      cohort,
    )
  barriers = held_out_evaluation.barrier_rows(
    cohort, scores, higher_is_better=directions
  )
  labels = dict(round_number=round_number, split='train')
  return held_out_evaluation.rows_to_csv(barriers, **labels), [
    # A higher barrier is worse for the client, whatever the metric.
    held_out_evaluation.summarize(
      'barrier', barriers, metric, higher_is_better=False, **labels
    )
    for metric in directions
  ]


def _export(
  experiment: experiment_lib.Experiment,
  result: simulation.TrainingResult,
  folder: pathlib.Path,
) -> list[pathlib.Path]:
  if experiment.config.method.personalizes:
    logging.warning(
      "What is exported is the server's model, but %s is judged by what clients "
      'make of it.',
      experiment.config.method.title,
    )
  weights = experiment.process.get_model_weights(result.state)
  model, weights = experiment.merge(weights)
  paths = [folder / 'saved_model', folder / 'weights.npz']
  export_lib.write_saved_model(model, weights, paths[0])
  export_lib.write_weights(weights, paths[1])
  return paths

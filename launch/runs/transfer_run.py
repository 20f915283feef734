# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scores a workdir's model on held-out clients of its task and of others."""

from collections.abc import Mapping
from collections.abc import Sequence
import os
import pathlib
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import simulation
from launch.plots import catalogue
from launch.plots import transfer
from launch.results import run_reader
from launch.runs import experiment as experiment_lib
from launch.runs import held_out_evaluation
from launch.runs import model_rounds
from launch.runs import trained_run
from launch.runs import transfer_evaluation
from launch.runs import tuned_evaluation
from tasks import registry
from tasks.task import Task


def evaluate_transfer(
  workdir: str | os.PathLike[str],
  targets: Mapping[str, str | None],
  *,
  at: Sequence[str] = (),
  split: str = 'test',
  max_clients: int | None = None,
  **options: Any,
) -> list[pathlib.Path]:
  """Evaluates a workdir's model on targets, prints and writes the scores.

  Args:
    workdir: A workdir with checkpoints.
    targets: The folder of each target or None, by the target's name.
    at: The names of models in `model_rounds.ROUNDS`; empty for the usual ones.
    split: `'test'` or `'validation'`; names of files for the latter begin with
      it.
    max_clients: The most clients of a target, drawn at random; None for all.
    **options: The options of `trained_run.open_run`.

  Returns:
    The paths of the written files.

  Raises:
    errors.InputError: If something cannot be used, read or written.
  """
  with trained_run.open_run(workdir, **options) as (experiment, folder):
    config = experiment.config
    tasks = create_target_tasks(
      experiment.task,
      targets,
      seed=config.seed,
      data_dir=folder.read_data()['data_dir'],
    )
    results = [
      trained_run.load_result(experiment, folder, name)
      for name in at or model_rounds.usual_of_transfer(config)
    ]
    states = {result.round_number: result.state for result in results}
    # Made first, since an unwritable folder would waste the work.
    simulation.make_folder(folder.path / 'evaluation')
    clients = {
      task.title: transfer_evaluation.select_clients(
        name, getattr(task, split), seed=config.seed, max_clients=max_clients
      )
      for name, task in tasks.items()
    }
    found = _evaluate(experiment, states, clients, split)
    scores = [score for _, summaries in found.values() for score in summaries]
    metrics = list(dict.fromkeys(score.metric for score in scores))
    print(transfer_evaluation.format_scores(scores))
    tables = {
      run_reader.TRANSFER_CLIENTS_CSV: transfer_evaluation.clients_to_csv(
        {key: rows for key, (rows, _) in found.items()}, metrics, split=split
      ),
      run_reader.TRANSFER_CSV: transfer_evaluation.scores_to_csv(scores),
    }
    paths = trained_run.write_tables(folder.path, split, tables)
    figures = transfer.plot_workdir_transfer(
      scores, rounds=config.rounds, task=experiment.task.title
    )
    return paths + catalogue.write_figures(
      {
        trained_run.file_name(name, split): figure
        for name, figure in figures.items()
      },
      folder.path / 'plots',
    )


def create_target_tasks(
  own: Task,
  targets: Mapping[str, str | None],
  *,
  seed: int,
  data_dir: str | None,
) -> dict[str, Task]:
  """Returns the task of each target, with data in the form of the model's.

  Args:
    own: The task of the model.
    targets: The folder of each target by its name; None for the folder of
      `own`, or for synthetic data of another task.
    seed: The seed of the run.
    data_dir: The folder of the data of `own`; None if it reads no files.

  Raises:
    errors.InputError: If the model cannot be applied to a target, or its data
      cannot be used.
  """
  for name, folder in targets.items():
    # Synthetic pages are no target of a model of real text.
    if data_dir is not None and folder is None and name != own.name:
      raise errors.InputError(
        f'--targets must give {name} a folder, {name}=FOLDER, since the model '
        f'is of the data in {data_dir}.'
      )
  return {
    name: own
    if name == own.name and folder is None
    else registry.create_transfer_task(own, name, seed=seed, data_dir=folder)
    for name, folder in targets.items()
  }


def _evaluate(
  experiment: experiment_lib.Experiment,
  states: Mapping[int, Any],
  clients: Mapping[str, tuple[datasets.ClientData, int]],
  split: str,
) -> dict[
  tuple[str, int],
  tuple[held_out_evaluation.Scores, list[run_reader.TransferScore]],
]:
  """Returns scores and their summaries by target and round."""
  if experiment.fine_tune_spec is None:
    print(
      'The config has no evaluation.personalization_epochs: the model is '
      'scored as it is only.'
    )
  rates = {
    round_number: tuned_evaluation.choose_rate(experiment, state)
    for round_number, state in states.items()
  }
  found = {}
  for target, (data, num_too_small) in clients.items():
    for round_number, state in states.items():
      print(
        f'{target}: model of round {round_number} of {experiment.config.rounds}, '
        f'{len(data.client_ids)} {split} clients ({num_too_small} too small)',
        flush=True,
      )
      weights = experiment.process.get_model_weights(state)
      with tuned_evaluation.tuned_with(experiment, rates[round_number]):
        scores = held_out_evaluation.score_shares(experiment, weights, data)
      directions = held_out_evaluation.metric_directions(
        next(iter(scores.totals.values())), experiment.task
      )
      summaries = transfer_evaluation.summarize(
        scores,
        directions,
        target=target,
        round_number=round_number,
        split=split,
        num_too_small=num_too_small,
      )
      found[target, round_number] = (scores, summaries)
  return found

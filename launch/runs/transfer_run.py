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
from fedfish_tff.execution import contexts
from launch.plots import catalogue
from launch.plots import transfer
from launch.results import run_reader
from launch.results import transfer_reader
from launch.runs import experiment as experiment_lib
from launch.runs import held_out_evaluation
from launch.runs import transfer_evaluation
from launch.runs import transfer_targets
from tasks import registry
from tasks.task import Task


def evaluate_transfer(
  workdir: str | os.PathLike[str],
  targets: Mapping[str, str | None],
  *,
  at: Sequence[str] = transfer_targets.ROUNDS,
  split: str = 'test',
  max_clients: int | None = None,
  context: str = contexts.DEFAULT_CONTEXT_NAME,
  context_options: Mapping[str, Any] | None = None,
  data_dir: str | None = None,
) -> list[pathlib.Path]:
  """Evaluates a workdir's model on targets; prints what it finds.

  Args:
    workdir: A workdir with checkpoints.
    targets: By the target's name, its folder or None; see `parse_targets`.
    at: Which models, of `transfer_targets.ROUNDS`.
    split: `'test'` or `'validation'`; the files of the latter have its name
      before theirs.
    max_clients: The most clients of a target, drawn at random; None for all.
    context: Name of the execution context.
    context_options: Of the context, see `contexts.set_default_context`.
    data_dir: Where the workdir's own task finds its files.

  Returns:
    The paths of what was written.

  Raises:
    errors.InputError: If something cannot be used, read or written.
  """
  config = run_reader.read_config(workdir)
  contexts.set_default_context(context, **(context_options or {}))
  experiment = experiment_lib.build_experiment(
    config, data_dir=data_dir, workdir=workdir
  )
  tasks = create_target_tasks(
    experiment.task, targets, seed=config['seed'], data_dir=data_dir
  )
  with simulation.open_workdir(
    workdir, config, data_fingerprint=experiment.fingerprint_data()
  ) as folder:
    models = _load_models(
      experiment, simulation.CheckpointManager(folder.checkpoints_path), at
    )
    # Before the work, since a folder that cannot be made would be in vain.
    output = simulation.make_folder(folder.path / 'evaluation')
    clients = {
      name: transfer_evaluation.select_clients(
        name,
        getattr(task, split),
        seed=config['seed'],
        max_clients=max_clients,
      )
      for name, task in tasks.items()
    }
    found = _evaluate(experiment, models, clients, split)
    scores = [score for _, summaries in found.values() for score in summaries]
    metrics = list(dict.fromkeys(score.metric for score in scores))
    print(transfer_evaluation.format_scores(scores))
    prefix = '' if split == 'test' else f'{split}_'
    paths = []
    for name, content in {
      transfer_reader.CLIENTS_CSV: transfer_evaluation.clients_to_csv(
        {key: rows for key, (rows, _) in found.items()}, metrics, split=split
      ),
      transfer_reader.TRANSFER_CSV: transfer_evaluation.scores_to_csv(scores),
    }.items():
      path = output / (prefix + pathlib.PurePath(name).name)
      simulation.write_atomically(path, content)
      paths.append(path)
    figures = transfer.plot_workdir_transfer(
      scores, rounds=config['rounds'], task=experiment.task.name
    )
    return paths + catalogue.write_figures(
      {prefix + name: figure for name, figure in figures.items()},
      folder.path / 'plots',
    )


def create_target_tasks(
  own: Task,
  targets: Mapping[str, str | None],
  *,
  seed: int,
  data_dir: str | None,
) -> dict[str, Task]:
  """Returns the task of each target, its clients as the own model takes them.

  Args:
    own: The task of the model.
    targets: By the target's name, its folder; None for that of `own`, or for
      made-up data of another task.
    seed: Of the run.
    data_dir: Where `own` finds its files.

  Raises:
    errors.InputError: If the model cannot be applied to a target, or its data
      cannot be used.
  """
  transfer_targets.check_folders(targets, own.name, data_dir)
  return {
    name: own
    if name == own.name and folder is None
    else registry.create_transfer_task(own, name, seed=seed, data_dir=folder)
    for name, folder in targets.items()
  }


def _load_models(
  experiment: experiment_lib.Experiment,
  checkpoints: simulation.CheckpointManager,
  at: Sequence[str],
) -> dict[int, Any]:
  """Returns the model's weights by round."""
  rounds = experiment.config['rounds']
  models = {}
  for name in at:
    is_half = name == transfer_targets.HALF
    half = experiment.half_round
    result = None
    if half or not is_half:
      result = simulation.load_result(
        experiment.process,
        checkpoints,
        round_number=half if is_half else None,
      )
    if result is None and is_half:
      raise errors.InputError(
        f'The workdir has no checkpoint of round {half}, half-way to round '
        f'{rounds}: train it that far with launch.train, which keeps it, or '
        'score the last checkpoint only, by --at=last.'
      )
    if result is None:
      raise errors.InputError(
        'The workdir has no checkpoint yet; train it first with launch.train.'
      )
    models[result.round_number] = experiment.process.get_model_weights(
      result.state
    )
  return models


def _evaluate(
  experiment: experiment_lib.Experiment,
  models: Mapping[int, Any],
  clients: Mapping[str, transfer_evaluation.TransferClients],
  split: str,
) -> dict[
  tuple[str, int],
  tuple[transfer_evaluation.TransferScores, list[transfer_reader.Score]],
]:
  """Returns scores and their summary by target and round."""
  config, task = experiment.config, experiment.task
  epochs = config['evaluation']['personalization_epochs']
  if not epochs:
    print(
      'The config has no evaluation.personalization_epochs: the model is '
      'scored as it is only.'
    )
  evaluate = transfer_evaluation.TransferEvaluation(
    experiment.model,
    experiment.process.local_training,
    fine_tune_spec=(
      datasets.BatchSpec(batch_size=config['batch_size'], epochs=epochs)
      if epochs
      else None
    ),
    eval_batch_size=task.eval_batch_size,
    seed=config['seed'],
  )
  found = {}
  for target, (data, num_too_small) in clients.items():
    for round_number, weights in models.items():
      print(
        f'{target}: model of round {round_number} of {config["rounds"]}, '
        f'{len(data.client_ids)} {split} clients ({num_too_small} too small)',
        flush=True,
      )
      scores = evaluate(weights, data)
      directions = held_out_evaluation.metric_directions(
        list(next(iter(scores.totals.values()))),
        task.metric,
        task.higher_is_better,
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

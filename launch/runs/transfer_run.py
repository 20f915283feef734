# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scores a workdir's model on held-out clients of its task and of others.

Clients that are too small for one of the shares of data are left out of all
scores, so that all scores have the same clients.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import os
import pathlib
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff import trust as trust_lib
from fedfish_tff.evaluation import metric_names
from launch.methods import config as config_lib
from launch.plots import catalogue
from launch.plots import transfer
from launch.results import run_reader
from launch.results import text_table
from launch.runs import experiment as experiment_lib
from launch.runs import held_out_evaluation
from launch.runs import model_rounds
from launch.runs import trained_run
from launch.runs import tuned_evaluation
from tasks import registry
from tasks.task import Task

# The fields of a score that every evaluation has.
_SUMMARIZED = (
  *('round', 'split', 'metric', 'num_clients', 'num_diverged'),
  *('mean', 'low', 'high'),
)


def evaluate_transfer(
  workdir: str | os.PathLike[str],
  targets: Mapping[str, str | None],
  *,
  at: Sequence[str] = (),
  split: str = 'test',
  max_clients: int | None = None,
  data_dir: str | None = None,
  trust: trust_lib.Trust = trust_lib.NONE,
) -> list[pathlib.Path]:
  """Evaluates a workdir's model on targets, prints and writes the scores.

  Args:
    workdir: A workdir with checkpoints.
    targets: The folder of each target or None, by the target's name.
    at: The names of models in `model_rounds.ROUNDS`; empty for the usual ones.
    split: `'test'` or `'validation'`; names of files for the latter begin with
      it.
    max_clients: The most clients of a target, drawn at random; None for all.
    data_dir: The folder of the workdir's data; None for that of training.
    trust: The trust in the programs that the workdir's config names.

  Returns:
    The paths of the written files.
  """
  tasks = {}

  def create_tasks(
    config: config_lib.Config, own: Task, own_data_dir: str | None
  ) -> None:
    tasks.update(
      create_target_tasks(own, targets, seed=config.seed, data_dir=own_data_dir)
    )

  with trained_run.open_run(
    workdir, data_dir=data_dir, trust=trust, check_task=create_tasks
  ) as (experiment, folder):
    config = experiment.config
    results = [
      trained_run.load_result(experiment, folder, name)
      for name in at or model_rounds.usual_of_transfer(config)
    ]
    states = {result.round_number: result.state for result in results}
    # Made first, since an unwritable folder would waste the work.
    simulation.make_folder(folder.path / 'evaluation')
    clients = {
      task.title: select_clients(
        name, getattr(task, split), seed=config.seed, max_clients=max_clients
      )
      for name, task in tasks.items()
    }
    found = _evaluate(experiment, states, clients, split)
    scores = [score for _, summaries in found.values() for score in summaries]
    metrics = list(dict.fromkeys(score.metric for score in scores))
    print(format_scores(scores))
    tables = {
      run_reader.TRANSFER_CLIENTS_CSV: clients_to_csv(
        {key: rows for key, (rows, _) in found.items()}, metrics, split=split
      ),
      # A statistic over no client is empty.
      run_reader.TRANSFER_CSV: text_table.to_csv(
        run_reader.TransferScore._fields, scores
      ),
    }
    paths = trained_run.write_tables(folder.path, split, tables)
    figures = transfer.plot_workdir_transfer(scores, experiment.task.title)
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
      summaries = summarize(
        scores,
        directions,
        target=target,
        round_number=round_number,
        split=split,
        num_too_small=num_too_small,
      )
      found[target, round_number] = (scores, summaries)
  return found


def select_clients(
  target: str,
  clients: datasets.ClientData,
  *,
  seed: int,
  max_clients: int | None = None,
) -> tuple[datasets.ClientData, int]:
  """Leaves out the clients that are too small for the protocol.

  Args:
    target: The name of the target, for the draw and for errors.
    clients: All clients of the target, some of them large enough.
    seed: The seed of the draw.
    max_clients: The most clients to look at, drawn at random; None for all.

  Returns:
    The other clients, and the number of those left out.
  """
  client_ids = clients.client_ids
  if max_clients is not None and len(client_ids) > max_clients:
    stream = datasets.random_generator('transfer clients', seed, target)
    drawn = stream.choice(len(client_ids), size=max_clients, replace=False)
    client_ids = [client_ids[int(index)] for index in sorted(drawn)]
  kept = [
    client_id
    for client_id in client_ids
    if datasets.count_examples(clients.load_client(client_id))
    >= datasets.MIN_FEW_SHOT_EXAMPLES
  ]
  if not kept:
    raise errors.InputError(
      f'None of the {len(client_ids)} held-out clients of target {target} has '
      f'the {datasets.MIN_FEW_SHOT_EXAMPLES} examples that transfer is measured '
      'on.'
    )
  return clients.select(kept), len(client_ids) - len(kept)


def summarize(
  scores: held_out_evaluation.Scores,
  directions: Mapping[str, bool],
  *,
  target: str,
  round_number: int,
  split: str,
  num_too_small: int,
) -> list[run_reader.TransferScore]:
  """Returns the rows of transfer.csv for one model on one target.

  Args:
    scores: The scores of the model on the target.
    directions: Whether higher is better, for each metric.
    target: The name of the target.
    round_number: The round of the model.
    split: The split of the clients, for example `'test'`.
    num_too_small: The number of clients that were left out.
  """
  found = []
  for fraction, column in run_reader.FEW_SHOT_COLUMNS.items():
    for metric, higher in directions.items() if column in scores.totals else ():
      summary = held_out_evaluation.summarize(
        column,
        scores.rows,
        metric,
        higher_is_better=higher,
        round_number=round_number,
        split=split,
      )
      found.append(
        run_reader.TransferScore(
          target=target,
          percent=round(100 * fraction),
          num_too_small=num_too_small,
          all_tokens=scores.totals[column][metric],
          **{name: summary[name] for name in _SUMMARIZED},
        )
      )
  return found


def clients_to_csv(
  scores: Mapping[tuple[str, int], held_out_evaluation.Scores],
  metrics: Sequence[str],
  *,
  split: str,
) -> bytes:
  """Returns a CSV with a row for each client, round and share of its data.

  Args:
    scores: The scores by target and round.
    metrics: The names of the columns of scores.
    split: The split of the clients, for example `'test'`.
  """
  lines = [
    [target, client_id, round_number, split, round(100 * fraction)]
    + [row['num_unseen']]
    + [row[f'{column}/{metric}'] for metric in metrics]
    for (target, round_number), found in scores.items()
    for client_id, row in found.rows.items()
    for fraction, column in run_reader.FEW_SHOT_COLUMNS.items()
    if column in found.totals
  ]
  head = ['target', 'client_id', 'round', 'split', 'percent', 'num_unseen']
  return text_table.to_csv([*head, *metrics], lines, keep_nan=True)


def format_scores(scores: Sequence[run_reader.TransferScore]) -> str:
  """Returns rows of `summarize` as lines of text with shares side by side.

  Counts, such as those of tokens, are not scores and are only in the files.
  """
  percents = sorted({score.percent for score in scores})
  lines = [
    ('target', 'round', 'metric', 'clients', *(f'{p} %' for p in percents))
  ]
  by_line = {}
  for score in scores:
    key = (score.target, score.round, score.metric)
    by_line.setdefault(key, {})[score.percent] = score
  for (target, round_number, metric), cells in by_line.items():
    if metric_names.is_count(metric):
      continue
    one = next(iter(cells.values()))
    lines.append(
      (
        target,
        str(round_number),
        metric,
        f'{one.num_clients} ({one.num_too_small} too small)',
        *(_format_cell(cells[p]) for p in percents),
      )
    )
  return text_table.align(lines)


def _format_cell(score: run_reader.TransferScore) -> str:
  """Returns '0.21 [0.2, 0.22], all 0.23', the last number over all tokens."""
  text = f'{score.mean:.4g}'
  if score.low == score.low:
    text += f' [{score.low:.4g}, {score.high:.4g}]'
  text += f', all {score.all_tokens:.4g}'
  if score.num_diverged:
    text += f' (diverged: {score.num_diverged})'
  return text

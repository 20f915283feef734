# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluations of trained weights client by client, for launch.evaluate.

Rows are mappings from columns to numbers, one row per client. A client that is
too small for a column has no entry there; a client with a diverged model has
NaN there.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import evaluation
from fedfish_tff import models
from fedfish_tff.evaluation import client_statistics
from fedfish_tff.evaluation import metric_names
from launch.results import run_reader
from launch.results import text_table
from launch.runs import experiment as experiment_lib
from tasks.task import Task

from absl import logging
import numpy as np
import tensorflow_federated as tff

Rows = dict[str, dict[str, float]]


@dataclasses.dataclass(frozen=True)
class Scores:
  """The scores of weights on clients.

  Attributes:
    rows: The row of each client, by its identifier.
    totals: For each prefix of the rows' columns, the metrics over all examples
      of all clients that have not diverged.
  """

  rows: Rows = dataclasses.field(default_factory=dict)
  totals: Rows = dataclasses.field(default_factory=dict)

  def add(
    self,
    prefix: str,
    per_client: Mapping[str, Mapping[str, Any]],
    total: Mapping[str, Any],
    *,
    size: str,
  ) -> None:
    """Adds the columns `size` and `<prefix>/<metric>`.

    Args:
      prefix: The prefix of the columns.
      per_client: The `num_examples` and the metrics of each client.
      total: The metrics over all examples.
      size: The name of the column with the number of scored examples.
    """
    self.totals[prefix] = scalar_metrics(total)
    for client_id, metrics in per_client.items():
      row = self.rows.setdefault(client_id, {})
      row[size] = int(metrics['num_examples'])
      row.update(metric_columns(prefix, metrics))


def score_all_examples(
  experiment: experiment_lib.Experiment,
  weights: tff.learning.models.ModelWeights,
  clients: datasets.ClientData,
  *,
  prefix: str = 'global',
  scorer: evaluation.ClientScorer | None = None,
) -> Scores:
  """Scores weights on all examples of clients.

  Args:
    experiment: The trained experiment, whose model has the weights.
    weights: The weights to score.
    clients: The clients that score them.
    prefix: The prefix of the columns.
    scorer: The scorer of the weights' model; None for the experiment's model.

  Returns:
    Rows with `num_examples` and `<prefix>/<metric>`.
  """
  total, per_client = (scorer or experiment.evaluations.global_model)(
    weights,
    evaluation.load_chunks(
      clients, eval_batch_size=experiment.task.eval_batch_size
    ),
  )
  scores = Scores()
  per_client = dict(zip(clients.client_ids, per_client, strict=True))
  scores.add(prefix, per_client, total, size='num_examples')
  return scores


def score_ensemble(
  experiment: experiment_lib.Experiment, clients: datasets.ClientData
) -> Scores | None:
  """Scores the ensemble of the networks that the first cohort trains apart.

  The experiment is of a method with separate initial networks.

  Returns:
    Rows with `num_examples` and `ensemble/<metric>`; None, with a warning, if
    the whole cohort diverges.
  """
  networks = experiment.built.train_apart(
    [datasets.to_client_input(client) for client in experiment.load_cohort(1)]
  )
  if not networks:
    logging.warning('All clients of round 1 diverge: there is no ensemble.')
    return None
  model = models.create_ensemble(experiment.task.create_model(), networks)
  return score_all_examples(
    experiment,
    tff.learning.models.ModelWeights(*model.initial_weights),
    clients,
    prefix='ensemble',
    scorer=evaluation.ClientScorer(model),
  )


def score_shares(
  experiment: experiment_lib.Experiment,
  weights: tff.learning.models.ModelWeights,
  clients: datasets.ClientData,
) -> Scores:
  """Scores weights on each client's unseen half, by the share tuned on.

  Returns:
    Rows with `num_unseen` and `<column>/<metric>` for the columns of
    `run_reader.FEW_SHOT_COLUMNS`; only the column of share 0 for a config
    without epochs of personalisation.
  """
  evaluate = evaluation.FewShotEvaluation(
    experiment.evaluations,
    fine_tune_spec=experiment.fine_tune_spec,
    eval_batch_size=experiment.task.eval_batch_size,
    seed=experiment.config.seed,
  )
  scores = Scores()
  for fraction, column in run_reader.FEW_SHOT_COLUMNS.items():
    if not fraction or experiment.fine_tune_spec is not None:
      per_client, total = evaluate(weights, clients, fraction)
      scores.add(column, per_client, total, size='num_unseen')
  return scores


def barrier_rows(
  cohort: Sequence[datasets.ClientBatches],
  scores: evaluation.BarrierScores,
  *,
  higher_is_better: Mapping[str, bool],
) -> Rows:
  """Returns the client-server barrier of one round for each client.

  Args:
    cohort: The batches of the round's clients.
    scores: The scores of these clients.
    higher_is_better: Whether higher is better, for each metric to report.

  Returns:
    Rows with `num_examples`, `client/<metric>`, `server/<metric>` and the
    signed `barrier/<metric>`, on the examples of the client's batches.
  """
  rows = {}
  for client, own, merged in zip(cohort, *scores, strict=True):
    row = {
      'num_examples': int(own['num_examples']),
      **metric_columns('client', own),
      **metric_columns('server', merged),
    }
    for metric, higher in higher_is_better.items():
      (value,), _ = evaluation.client_barriers(
        evaluation.BarrierScores([own], [merged]),
        metric,
        higher_is_better=higher,
      )
      row[f'barrier/{metric}'] = float(value)
    rows[client.client_id] = row
  return rows


def summarize(
  evaluation_name: str,
  rows: Rows,
  metric: str,
  *,
  higher_is_better: bool,
  round_number: int,
  split: str,
  minus: str | None = None,
  all_examples: float | None = None,
) -> dict[str, Any]:
  """Returns statistics over clients of a column or of a difference of columns.

  Args:
    evaluation_name: The prefix of the column, for example `'after'`.
    rows: The row of each client.
    metric: The metric; the column is `<evaluation_name>/<metric>`.
    higher_is_better: Whether higher is better, which decides on the worst tenth
      of clients.
    round_number: The round of the model.
    split: The split of the clients, for example `'test'`.
    minus: The prefix of a column to subtract, client by client; None for none.
    all_examples: The metric over all examples; None if it was not measured.

  Returns:
    A row of summary.csv; `low` and `high` are a 95 % bootstrap interval of the
    mean over clients. Of the `num_clients` with the column, `num_diverged` have
    no finite value; statistics are over the others. They are None if no client
    has the column.
  """
  column = f'{evaluation_name}/{metric}'
  other = f'{minus}/{metric}' if minus else None
  scored = [
    client
    for client, row in rows.items()
    if column in row and (other is None or other in row)
  ]
  summary = dict(
    evaluation=f'{evaluation_name} minus {minus}' if minus else evaluation_name,
    round=round_number,
    split=split,
    metric=metric,
    num_clients=len(scored),
    num_diverged=0,
    all_examples=all_examples,
    mean=None,
    low=None,
    high=None,
    mean_by_examples=None,
    worst_tenth=None,
  )
  if not scored:
    return summary
  values = {client: rows[client][column] for client in scored}
  baseline = {
    client: rows[client][other] if other else 0.0 for client in scored
  }
  every = np.array([values[c] - baseline[c] for c in scored], np.float64)
  result = evaluation.compare_paired(
    values, baseline, higher_is_better=higher_is_better, with_p=False
  )
  of_all = evaluation_name in ('global', 'ensemble', 'barrier')
  size = 'num_examples' if of_all else 'num_unseen'
  sizes = np.array([rows[client][size] for client in scored], np.float64)
  finite = np.isfinite(every)
  differences, sizes = every[finite], sizes[finite]
  return summary | dict(
    num_diverged=client_statistics.count_diverged(every),
    mean=client_statistics.weighted_mean(differences, sizes),
    low=result.low,
    high=result.high,
    mean_by_examples=client_statistics.weighted_mean(
      differences, sizes, weighting='examples'
    ),
    worst_tenth=client_statistics.worst_tenth(
      differences, higher_is_better=higher_is_better
    ),
  )


def rows_to_csv(rows: Rows, *, round_number: int, split: str) -> bytes:
  """Returns rows as CSV; cells of missing columns stay empty.

  Args:
    rows: The row of each client.
    round_number: The round of the model, the second column.
    split: The split of the clients, for example `'test'`; the third column.
  """
  names = list(dict.fromkeys(name for row in rows.values() for name in row))
  return text_table.to_csv(
    ['client_id', 'round', 'split', *names],
    [
      [client, round_number, split, *map(row.get, names)]
      for client, row in rows.items()
    ],
    keep_nan=True,
  )


def format_summaries(summaries: Sequence[Mapping[str, Any]]) -> str:
  """Returns rows of `summarize` as lines of text for a terminal."""
  # Few clients have no interval.
  has_intervals = any(_format(summary['low']) for summary in summaries)
  title = 'mean [95 % interval]' if has_intervals else 'mean'
  lines = [('', 'metric', 'clients', title, 'worst tenth')]
  for summary in summaries:
    mean = _format(summary['mean'])
    if _format(summary['low']):
      mean += f' [{_format(summary["low"])}, {_format(summary["high"])}]'
    clients = str(summary['num_clients'])
    if summary['num_diverged']:
      clients += f' (diverged: {summary["num_diverged"]})'
    lines.append(
      (
        summary['evaluation'],
        summary['metric'],
        clients,
        mean,
        _format(summary['worst_tenth']),
      )
    )
  return text_table.align(lines)


def _format(value: float | None) -> str:
  return '' if value is None or np.isnan(value) else f'{value + 0.0:.4g}'


def metric_directions(metrics: Iterable[str], task: Task) -> dict[str, bool]:
  """Returns whether higher is better, for each metric.

  The task decides for its own metric, and names for the others.
  """
  return {
    name: task.higher_is_better
    if name == task.metric
    else metric_names.higher_is_better(name)
    for name in metrics
  }


def metric_columns(prefix: str, metrics: Mapping[str, Any]) -> dict[str, float]:
  """Returns the scalar metrics as columns `<prefix>/<metric>`."""
  return {f'{prefix}/{name}': v for name, v in scalar_metrics(metrics).items()}


def scalar_metrics(metrics: Mapping[str, Any]) -> dict[str, float]:
  """Returns the scalar metrics, without the number of examples."""
  return {
    name: float(value)
    for name, value in metrics.items()
    if name != 'num_examples' and not np.ndim(value)
  }

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluates trained weights client by client, for launch.evaluate.

The rows of every function are mappings from columns to numbers, one row a
client; a client that is too small for a column has no such entry, one whose
model has diverged has NaN there.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import evaluation
from fedfish_tff.evaluation import client_statistics
from fedfish_tff.evaluation import metric_names
from fedfish_tff.models import model_functions
from launch.results import run_reader
from launch.results import text_table

import numpy as np
import tensorflow_federated as tff

Rows = dict[str, dict[str, float]]

# Two parts of at least one example.
_MIN_PERSONALIZATION_EXAMPLES = 2
_SUMMARY_FIELDS = (
  'evaluation',
  'round',
  'split',
  'metric',
  'num_clients',
  'num_diverged',
  'all_examples',
  'mean',
  'low',
  'high',
  'mean_by_examples',
  'worst_tenth',
)


def evaluate_global(
  model: model_functions.ModelFn,
  weights: tff.learning.models.ModelWeights,
  data: datasets.ClientData,
  *,
  batch_size: int,
) -> tuple[Rows, dict[str, float]]:
  """Scores weights on all examples of each client, and on all together.

  Args:
    model: The model.
    weights: Its weights.
    data: The clients.
    batch_size: Examples a batch.

  Returns:
    Rows with `num_examples` and `global/<metric>`, and the metrics over all
    examples by their names.
  """
  result = evaluation.ChunkedEvaluation(model)(
    weights,
    evaluation.load_chunks(data, eval_batch_size=batch_size),
  )
  rows = {
    client_id: {
      'num_examples': int(metrics['num_examples']),
      **metric_columns('global', metrics),
    }
    for client_id, metrics in zip(
      data.client_ids, result.per_client, strict=True
    )
  }
  return rows, scalar_metrics(result.total)


def evaluate_personalization(
  model: model_functions.ModelFn,
  weights: tff.learning.models.ModelWeights,
  local_training: tff.Computation,
  data: datasets.ClientData,
  *,
  batch_spec: datasets.BatchSpec,
  eval_batch_size: int,
  seed: int,
) -> Rows:
  """Fine-tunes on shares of each client's examples, scores the unseen half.

  Args:
    model: The model.
    weights: Its global weights.
    local_training: A process's local training, `(<M, B*> -> M)`.
    data: The clients.
    batch_spec: Batches and epochs of the fine-tuning.
    eval_batch_size: Examples a batch in evaluation.
    seed: Decides the halves and the batches.

  Returns:
    Rows with `num_unseen` and, for 0, 25 and 50 % of the examples,
    `before/<metric>`, `few_shot_25/<metric>` and `after/<metric>`. Clients
    need 4 examples for the second, 2 for the others.
  """
  compute = evaluation.build_personalization_evaluation(model, local_training)
  rows = {}
  for fraction, column in run_reader.FEW_SHOT_COLUMNS.items():
    if not fraction:
      continue  # Every other fraction measures it: the score before.
    for chunk in evaluation.chunk_clients(data.client_ids):
      inputs = {}
      for client_id in chunk:
        parts = _split(data.load_client(client_id), fraction, client_id, seed)
        if parts is not None:
          inputs[client_id] = evaluation.build_personalization_input(
            *parts,
            client_id=client_id,
            batch_spec=batch_spec,
            eval_batch_size=eval_batch_size,
            seed=seed,
          )
      if not inputs:
        continue
      results = compute(weights, list(inputs.values()))
      for client_id, result in zip(inputs, results, strict=True):
        row = rows.setdefault(
          client_id, {'num_unseen': int(result['num_examples'])}
        )
        row.update(metric_columns('before', result['before']))
        row.update(metric_columns(column, result['after']))
  return rows


def _split(
  examples: datasets.Examples, fraction: float, client_id: str, seed: int
) -> tuple[datasets.Examples, datasets.Examples] | None:
  """Returns (support, unseen half), or None where the client is too small."""
  total = datasets.count_examples(examples)
  if total >= datasets.MIN_FEW_SHOT_EXAMPLES:
    return datasets.split_few_shot(
      examples, fraction=fraction, client_id=client_id, seed=seed
    )
  if total >= _MIN_PERSONALIZATION_EXAMPLES and fraction == 0.5:
    return datasets.split_examples(
      examples, fraction=fraction, client_id=client_id, seed=seed
    )
  return None


def evaluate_barrier(
  model: model_functions.ModelFn,
  start_weights: tff.learning.models.ModelWeights,
  new_weights: tff.learning.models.ModelWeights,
  local_training: tff.Computation,
  cohort: Sequence[datasets.ClientBatches],
  *,
  eval_batch_size: int,
  higher_is_better: Mapping[str, bool],
) -> Rows:
  """Measures the client-server barrier of one round, client by client.

  Args:
    model: The model.
    start_weights: The global weights before the round.
    new_weights: The global weights after the round.
    local_training: The process's local training, `(<M, B*> -> M)`.
    cohort: The round's batches.
    eval_batch_size: Examples a batch in evaluation.
    higher_is_better: For each metric to report, whether more is better.

  Returns:
    Rows with `num_examples`, `client/<metric>`, `server/<metric>` and the
    signed `barrier/<metric>`, on the examples of the client's batches.
  """
  per_client = evaluation.build_client_server_barrier(model, local_training)(
    start_weights,
    new_weights,
    [
      evaluation.build_barrier_input(client, eval_batch_size=eval_batch_size)
      for client in cohort
    ],
  )
  rows = {}
  for client, result in zip(cohort, per_client):
    row = {
      'num_examples': int(result['num_examples']),
      **metric_columns('client', result['client']),
      **metric_columns('server', result['server']),
    }
    for metric, higher in higher_is_better.items():
      (value,), _ = evaluation.client_barriers(
        [result], metric, higher_is_better=higher
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
  """Returns statistics over clients of one column, or of a difference.

  Args:
    evaluation_name: The prefix of the column, for example `'after'`.
    rows: One row a client.
    metric: The metric; the column is `<evaluation_name>/<metric>`.
    higher_is_better: Which clients are the worst tenth.
    round_number: The round of the model.
    split: What the clients are, for example `'test'`.
    minus: Another prefix whose column is subtracted, client by client.
    all_examples: The metric over all examples, where that was measured.

  Returns:
    A row of summary.csv; `low` and `high` are a 95 % bootstrap interval of the
    mean over clients. Statistics are over the clients with finite values;
    `num_diverged` of the `num_clients` that have the column have none. Without
    a client that has the column, statistics are None.
  """
  column = f'{evaluation_name}/{metric}'
  other = f'{minus}/{metric}' if minus else None
  scored = [
    client
    for client, row in rows.items()
    if column in row and (other is None or other in row)
  ]
  name = f'{evaluation_name} minus {minus}' if minus else evaluation_name
  summary = dict.fromkeys(_SUMMARY_FIELDS)
  summary.update(
    evaluation=name,
    round=round_number,
    split=split,
    metric=metric,
    num_clients=len(scored),
    num_diverged=0,
    all_examples=all_examples,
  )
  if not scored:
    return summary
  values = {client: rows[client][column] for client in scored}
  baseline = {
    client: rows[client][other] if other else 0.0 for client in scored
  }
  differences = np.array([values[c] - baseline[c] for c in scored], np.float64)
  result = evaluation.compare_paired(
    values, baseline, higher_is_better=higher_is_better
  )
  size = (
    'num_examples'
    if evaluation_name in ('global', 'barrier')
    else ('num_unseen')
  )
  sizes = np.array([rows[client][size] for client in scored], np.float64)
  summary.update(
    num_diverged=client_statistics.count_diverged(differences),
    low=result.low,
    high=result.high,
    mean=client_statistics.weighted_mean(differences, sizes),
    mean_by_examples=client_statistics.weighted_mean(
      differences, sizes, weighting='examples'
    ),
    worst_tenth=client_statistics.worst_tenth(
      differences, higher_is_better=higher_is_better
    ),
  )
  return summary


def rows_to_csv(rows: Rows, *, round_number: int, split: str) -> bytes:
  """Returns rows as CSV; the cells of columns that a row lacks stay empty.

  Args:
    rows: One row a client.
    round_number: The round of the model, the second column.
    split: What the clients are, for example `'test'`; the third column.
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


def summaries_to_csv(summaries: Sequence[Mapping[str, Any]]) -> bytes:
  """Returns rows of `summarize` as CSV."""
  # NaN is a statistic over no client, as None is.
  return text_table.to_csv(
    _SUMMARY_FIELDS,
    [[summary[name] for name in _SUMMARY_FIELDS] for summary in summaries],
  )


def format_summaries(summaries: Sequence[Mapping[str, Any]]) -> str:
  """Returns rows of `summarize` as lines of text for a terminal."""
  lines = [('', 'metric', 'clients', 'mean [95 % interval]', 'worst tenth')]
  for summary in summaries:
    mean = _format(summary['mean'])
    if _format(summary['low']):
      mean += f' [{_format(summary["low"])}, {_format(summary["high"])}]'
    lines.append(
      (
        summary['evaluation'],
        summary['metric'],
        _format_clients(summary),
        mean,
        _format(summary['worst_tenth']),
      )
    )
  return text_table.align(lines)


def _format_clients(summary: Mapping[str, Any]) -> str:
  if not summary['num_diverged']:
    return str(summary['num_clients'])
  return f'{summary["num_clients"]} (diverged: {summary["num_diverged"]})'


def _format(value: float | None) -> str:
  return '' if value is None or np.isnan(value) else f'{value:.4g}'


def metric_directions(
  metrics: Sequence[str], primary: str, primary_is_better_higher: bool
) -> dict[str, bool]:
  """Returns for each metric whether more is better.

  Args:
    metrics: Names of metrics.
    primary: The task's metric, for which the task itself says.
    primary_is_better_higher: What the task says.
  """
  return {
    metric: primary_is_better_higher
    if metric == primary
    else metric_names.higher_is_better(metric)
    for metric in metrics
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

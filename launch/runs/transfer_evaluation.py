# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients of other tasks that score a model, and summaries of these scores.

Clients that are too small for one of the shares of data are left out of all
scores, so that all scores have the same clients.
"""

from collections.abc import Mapping
from collections.abc import Sequence

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.evaluation import metric_names
from launch.results import run_reader
from launch.results import text_table
from launch.runs import held_out_evaluation

# The fields of a score that every evaluation has.
_SUMMARIZED = (
  *('round', 'split', 'metric', 'num_clients', 'num_diverged'),
  *('mean', 'low', 'high'),
)


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
    clients: The clients.
    seed: The seed of the draw.
    max_clients: The most clients to look at, drawn at random; None for all.

  Returns:
    The other clients, and the number of those left out.

  Raises:
    errors.InputError: If all are too small, or a client cannot be read.
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


def scores_to_csv(scores: Sequence[run_reader.TransferScore]) -> bytes:
  """Returns rows of `summarize` as CSV; a statistic over no client is empty."""
  return text_table.to_csv(run_reader.TransferScore._fields, scores)


def clients_to_csv(
  scores: Mapping[tuple[str, int], held_out_evaluation.Scores],
  metrics: Sequence[str],
  *,
  split: str,
) -> bytes:
  """Returns a CSV with a row for each client, round and share of its data.

  Args:
    scores: The scores by target and round.
    metrics: The metrics.
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

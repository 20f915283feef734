# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The content of summary.json for a finished run."""

from collections.abc import Mapping
from collections.abc import Sequence
import functools
import importlib.metadata
import math
import platform
from typing import Any

import fedfish_tff
from fedfish_tff import evaluation
from fedfish_tff import simulation
from launch.methods import block as block_lib
from launch.methods import building
from launch.runs import experiment as experiment_lib
from launch.runs import tuned_evaluation

# The diagnostics of FedFish that are compared between runs.
_EFFECTIVE_CLIENTS = 'aggregator/effective_clients_mean'
# The values of `status`.
FINISHED, STOPPED_EARLY, DIVERGED = 'finished', 'stopped early', 'diverged'
_PACKAGES = ('tensorflow-federated', 'tensorflow', 'numpy')


def summarize(
  experiment: experiment_lib.Experiment,
  outcome: block_lib.Outcome,
  rows: Sequence[Mapping[str, int | float]],
  *,
  client_states: simulation.ClientStateStore | None = None,
  divergence: simulation.Divergence | None = None,
) -> Mapping[str, Any]:
  """Returns the content of summary.json; only here are test clients scored.

  Args:
    experiment: The experiment that was run.
    outcome: The end of the run.
    rows: The rows of metrics.csv.
    client_states: The states that clients keep; None if they keep none.
    divergence: The decision on divergence; None for a closed form.
  """
  task = experiment.task
  result, model = outcome.result, outcome.model
  row = next(row for row in rows if row['round'] == model.round_number)
  with tuned_evaluation.tuned_with(experiment, tuned_evaluation.rate_of(row)):
    test = _score_test_clients(experiment, model.state)
  if client_states is not None and experiment.config.keeps_models:
    test |= _score_client_models(experiment, model, client_states)
  reported, blocks = {}, experiment.config.declared
  for block in blocks:
    reported |= block.summary(outcome)
  totals = dict(result.totals)
  if not any(block.measures_payload for block in blocks):
    # All weights are sent as they are, so that no payload is measured.
    totals.pop('payload_bytes', None)
  return {
    'task': task.name,
    **({'synthetic': task.synthetic} if task.synthetic else {}),
    'algorithm': experiment.config.method.name,
    'label': experiment_lib.describe_run(experiment.config, task),
    'rounds': result.round_number,
    **_status(outcome, divergence),
    'diverged_rounds': [
      row['round'] for row in rows if row.get(simulation.DIVERGED_COLUMN)
    ],
    # The round of the scored model.
    'model_round': model.round_number,
    'final': {
      name: _to_json(value)
      for name, value in row.items()
      if name.startswith(('train/', 'eval/', 'csb/'))
      or name == _EFFECTIVE_CLIENTS
    },
    'test': {name: _to_json(value) for name, value in test.items()},
    'best_validation': _find_best(
      rows, experiment.judged_column, task.higher_is_better
    ),
    'totals': totals,
    **_reported_hparams(experiment, result),
    **reported,
    **_total_published_bytes(rows),
    'versions': {
      'python': platform.python_version(),
      'fedfish_tff': fedfish_tff.__version__,
      **{name: importlib.metadata.version(name) for name in _PACKAGES},
    },
  }


def tell_divergence(summary: Mapping[str, Any]) -> str:
  """Returns 'Diverged in round 3: ...' of a diverged run's summary."""
  found = summary['diverged']
  return f'Diverged in round {found["round"]}: {found["reason"]}'


def _status(
  outcome: block_lib.Outcome, divergence: simulation.Divergence | None
) -> Mapping[str, Any]:
  """Returns the way in which the run has ended, and the reason, if any."""
  first = divergence and divergence.first_diverged_round
  if first is not None:
    return {
      'status': DIVERGED,
      'diverged': {'round': first, 'reason': divergence.describe()},
    }
  if outcome.result.round_number == outcome.experiment.config.rounds:
    return {'status': FINISHED}
  status, stopping = {'status': STOPPED_EARLY}, outcome.stopping
  # Another hook than this one may end a run, too, and gives no reason.
  if stopping is not None and stopping.reason is not None:
    status['stopped'] = stopping.reason
  return status


def _score_test_clients(
  experiment: experiment_lib.Experiment, state: Any
) -> dict[str, float]:
  """Returns the columns of test clients, tuned with the current rate."""
  clients = experiment.task.test
  columns = experiment.build_held_out_evaluation(clients, spread=True)(
    experiment.process.get_model_weights(state)
  )
  own = experiment.build_own_data_evaluation(clients, new_clients=True)
  return columns | (own(state) if own is not None else {})


def _score_client_models(
  experiment: experiment_lib.Experiment,
  result: simulation.TrainingResult,
  client_states: simulation.ClientStateStore,
) -> dict[str, float]:
  """Scores, on all test data, the models of all clients that have come.

  Zhang and Emerson (2023) do so with all clients in every round. A client's
  model is the one with which it would begin the next round. A client that never
  came is left out: its model would be the server's, which is scored anyway.

  Args:
    experiment: The experiment that was run.
    result: The result of the last round or of an earlier, checkpointed round.
    client_states: The store with the clients' states after that round.

  Returns:
    For each metric, `clients/<metric>`, the mean over the clients, each counted
    once, and `clients/<metric>_client_std`, the standard deviation over them; and
    `clients/scored_clients`, their number, if not all training clients have
    come. Empty if no client has come.
  """
  task = experiment.task
  round_number = result.round_number
  client_ids = [
    c
    for c in task.train.client_ids
    if client_states.has_state(c, round_number=round_number)
  ]
  if not client_ids:
    return {}

  scores = []
  # Models are made one by one, so that only one is in memory.
  for weights in evaluation.own_models(
    experiment.process,
    result.state,
    client_ids,
    functools.partial(client_states.load, round_number=round_number),
  ):
    chunks = evaluation.load_chunks(
      task.test, eval_batch_size=task.eval_batch_size
    )
    scores.append(experiment.evaluations.global_model(weights, chunks).total)
    del weights
  columns = {}
  for name in evaluation.score_names(scores):
    values, sizes = evaluation.metric_values(scores, name)
    columns[f'clients/{name}'] = evaluation.weighted_mean(values, sizes)
    columns[f'clients/{name}_client_std'] = evaluation.standard_deviation(
      values
    )
  if len(client_ids) < len(task.train.client_ids):
    columns['clients/scored_clients'] = len(client_ids)
  return columns


def _reported_hparams(
  experiment: experiment_lib.Experiment, result: simulation.TrainingResult
) -> Mapping[str, float]:
  """Returns the hyper-parameters that the method has chosen, such as lambda."""
  names = experiment.built.reported_hparams
  hparams = experiment.process.get_hparams(result.state) if names else {}
  return {name: float(hparams[name]) for name in names}


def _total_published_bytes(
  rows: Sequence[Mapping[str, int | float]],
) -> Mapping[str, int]:
  """Returns the bytes of all rounds, as the method's paper counts them."""
  column = building.PUBLISHED_BYTES
  counts = [row[column] for row in rows if column in row]
  return {'published_bytes': int(sum(counts))} if counts else {}


def _find_best(
  rows: Sequence[Mapping[str, int | float]], column: str, higher_is_better: bool
) -> Mapping[str, Any] | None:
  """Returns the first round with the best finite value, None without one."""
  values = {
    row['round']: row[column]
    for row in rows
    if math.isfinite(row.get(column, math.nan))
  }
  chosen = evaluation.select_best(values, higher_is_better=higher_is_better)
  if chosen is None:
    return None
  return {'metric': column, 'value': values[chosen.best], 'round': chosen.best}


def _to_json(value: int | float) -> int | float | None:
  """Returns a finite value, or None for NaN and infinity, which JSON lacks."""
  return value if math.isfinite(value) else None

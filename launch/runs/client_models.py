# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scores of the models of clients that keep weights between rounds."""

import functools

from fedfish_tff import evaluation
from fedfish_tff import simulation
from launch.runs import experiment as experiment_lib

_PREFIX = 'clients'


def evaluate_client_models(
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
    client_states: The clients' states.

  Returns:
    For each metric, `clients/<metric>`, the mean over the clients, each counted
    once, and `clients/<metric>_std`, the standard deviation over them; empty if
    no client has come.
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
    columns[f'{_PREFIX}/{name}'] = evaluation.weighted_mean(values, sizes)
    columns[f'{_PREFIX}/{name}_std'] = evaluation.standard_deviation(values)
  return columns

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What clients' own models score, where clients keep weights between rounds."""

import collections

from fedfish_tff import evaluation
from fedfish_tff import simulation
from launch import evaluation_inputs
from launch import experiment as experiment_lib
from launch import metric_names

import numpy as np

_PREFIX = 'clients'


def evaluate_client_models(
  experiment: experiment_lib.Experiment,
  result: simulation.TrainingResult,
  client_states: simulation.ClientStateStore,
) -> dict[str, float]:
  """Scores every training client's own model on all test data.

  As Zhang and Emerson (2023) do: a client's model is what it would begin the
  next round with. That of a client that never came is the server's.

  Args:
    experiment: What was run.
    result: Its end.
    client_states: The clients' states after it.

  Returns:
    Of each metric, `clients/<metric>`, the mean over the clients, each counted
    once, and `clients/<metric>_std`, the standard deviation over them.
  """
  process, task = experiment.process, experiment.task
  evaluate = evaluation.ChunkedEvaluation(experiment.model)
  newcomer = process.initialize_client(result.state)

  def score(state) -> dict[str, float]:
    weights = process.client_model_weights(result.state, state)
    chunks = evaluation_inputs.load_chunks(
      task.test, eval_batch_size=task.eval_batch_size
    )
    return evaluate(weights, chunks).total

  scores, of_newcomers = collections.defaultdict(list), None
  for client_id in task.train.client_ids:
    state = client_states.load(client_id, newcomer)
    if state is None:
      # Their models are one and the same.
      found = of_newcomers = of_newcomers or score(newcomer)
    else:
      found = score(state)
    for name, value in found.items():
      if not metric_names.is_count(name):
        scores[name].append(float(value))
  columns = {}
  for name, values in scores.items():
    columns[f'{_PREFIX}/{name}'] = evaluation.weighted_mean(
      np.array(values), np.ones(len(values))
    )
    columns[f'{_PREFIX}/{name}_std'] = evaluation.standard_deviation(values)
  return columns

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the summary of a run; training_run_test has whole ones."""

import json

from fedfish_tff import simulation
from launch.configs import base
from launch.methods import config_checks
from launch.runs import evaluation_run
from launch.runs import experiment as experiment_lib
from launch.runs import run_summary
from tests.launch import small_configs

from absl.testing import absltest
import numpy as np
import pytest


def _config():
  config = base.create_config(
    'fed_avg,exchange=partial,unsent=client_keeps',
    task={'name': 'digits', 'num_clients': 10, 'hidden_units': (4,)},
    rounds=2,
    cohort_size=2,
    local_epochs=1,
    batch_size=10,
    client_learning_rate=0.1,
    server_learning_rate=1.0,
    evaluation={'personalization_epochs': 0, 'barrier': False},
    evaluate_every=1,
    checkpoint_every=1,
  )
  config.exchange.share = 0.25
  return config.to_dict()


def _accuracy(weights, x, y):
  """Gradients of the hidden layer and the classifier, in NumPy."""
  kernel, bias, classifier, classifier_bias = map(np.asarray, weights.trainable)
  hidden = np.maximum(x.reshape(len(x), -1) @ kernel + bias, 0)
  return np.mean(np.argmax(hidden @ classifier + classifier_bias, 1) == y)


@pytest.mark.thorough
class ClientModelsTest(small_configs.TestCase):
  def test_each_client_that_came_is_scored_on_all_test_data(self):
    workdir = self.folder / 'run'
    summary = small_configs.train(_config(), workdir)
    self.assertGreater(summary['totals']['payload_bytes'], 0)
    # A finished run does not train again, and scores the same.
    self.assertEqual(
      small_configs.train(_config(), workdir)['test'], summary['test']
    )
    experiment = experiment_lib.build_experiment(config_checks.read(_config()))
    process, task = experiment.process, experiment.task
    state = simulation.load_result(
      process, simulation.CheckpointManager(workdir / 'checkpoints')
    ).state
    newcomer = process.initialize_client(state)
    store = simulation.ClientStateStore(workdir / 'client_states.sqlite')
    x, y = (
      np.concatenate(parts)
      for parts in zip(
        *(task.test.load_client(c) for c in task.test.client_ids)
      )
    )
    scores = []
    for client_id in task.train.client_ids:
      own = store.load(client_id, newcomer)
      if own is not None:
        weights = process.client_model_weights(state, own)
        scores.append(_accuracy(weights, x, y))
    self.assertBetween(len(scores), 2, 4)
    self.assertGreater(np.std(scores), 0)
    self.assertAlmostEqual(
      summary['test']['clients/accuracy'], np.mean(scores), places=6
    )
    self.assertAlmostEqual(
      summary['test']['clients/accuracy_std'], np.std(scores), places=6
    )
    self.assertNotIn('clients/num_examples', summary['test'])
    # Where nobody has come there is nothing to score.
    self.assertEmpty(
      run_summary._score_client_models(
        experiment,
        simulation.load_result(
          process, simulation.CheckpointManager(workdir / 'checkpoints')
        ),
        simulation.ClientStateStore(),
      )
    )
    # It can be evaluated like any other run.
    paths = evaluation_run.evaluate(workdir)
    self.assertIn('clients.csv', {path.name for path in paths})
    written = json.loads((workdir / 'summary.json').read_text())
    self.assertEqual(written['test'], summary['test'])


class RunSummaryTest(absltest.TestCase):
  def test_the_best_round(self):
    rows = [
      {'round': 0, 'm': 1.0},
      {'round': 1},
      {'round': 2, 'm': 3.0},
      {'round': 3, 'm': float('nan')},
      {'round': 4, 'm': 3.0},
    ]
    find = run_summary._find_best
    self.assertEqual(
      find(rows, 'm', True), {'metric': 'm', 'value': 3.0, 'round': 2}
    )
    self.assertEqual(
      find(rows, 'm', False), {'metric': 'm', 'value': 1.0, 'round': 0}
    )
    self.assertIsNone(find(rows, 'other', True))

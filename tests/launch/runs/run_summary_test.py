# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the summary of a run, of clients' own scores and of its last line."""

import contextlib
import csv
import functools
import io
import json
import pathlib
import re

from fedfish_tff import simulation
from launch.configs import base
from launch.methods import config_checks
from launch.methods import early_stopping
from launch.results import frames as frames_lib
from launch.results import run_reader
from launch.runs import closing_line
from launch.runs import evaluation_run
from launch.runs import experiment as experiment_lib
from launch.runs import run_summary
from launch.runs import training_run
from tests import tolerance
from tests.evaluation import softmax_regression
from tests.launch import small_configs
from tests.launch.runs import softmax_task

from absl.testing import absltest
from absl.testing import parameterized
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
      summary['test']['clients/accuracy_client_std'], np.std(scores), places=6
    )
    self.assertLess(len(scores), len(task.train.client_ids))
    self.assertEqual(summary['test']['clients/scored_clients'], len(scores))
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


@functools.cache
def _build(variant, metric=''):
  """Returns an experiment of a softmax classifier, built once."""
  config = softmax_task.make_config(variant, ())
  own_test = {}
  if variant != 'fed_per':
    config |= {
      'early_stopping': early_stopping.BLOCK.defaults() | {'metric': metric}
    }
    config['evaluation']['personalization_epochs'] = 0
    own_test = {'own_test': None}
  return experiment_lib.build_experiment_of(
    config_checks.read(config), softmax_task.make_task(**own_test)
  )


class ClosingLineTest(parameterized.TestCase):
  @parameterized.parameters(({}, 2), ({'personalized/scored_clients': 1}, 1))
  def test_all_scores_stand_side_by_side(self, counted, scored):
    line = closing_line.format_line(
      _build('fed_per'),
      {
        'status': 'finished',
        'rounds': 1,
        'diverged_rounds': [],
        'totals': {},
        'model_round': 1,
        'test': {
          'global/loss': 1.0,
          'personalized/loss_before': 2.0,
          'personalized/loss': None,
          'personalized/diverged_clients': 1,
          **counted,
          'new_global/loss': 3.0,
          'new_fine_tuned/loss': 4.0,
        },
        'final': {
          'eval/new_fine_tuned/loss': 6.0,
          'eval/own_global/loss': 5.0,
          'eval/own/loss': None,
          'eval/own/diverged_clients': 2,
          'eval/own_fine_tuned/loss': 7.0,
        },
      },
    )
    self.assertEqual(
      re.sub(r'^Done: 1 round of [^.]*\. ', '', line),
      'Loss on 2 test clients: global model 1.0000; on a held-out half of the '
      f'data of {scored} test client{"s"[: scored - 1]}: before fine-tuning '
      f'2.0000, after fine-tuning diverged for 1 of {scored} clients; on own '
      'test data of 2 test clients: global model '
      '3.0000, after fine-tuning 4.0000; on own test data of 3 '
      'training clients: global model 5.0000, own models diverged for 2 of 3 '
      "clients, after fine-tuning 7.0000. Judged by validation clients' own "
      'test loss, after fine-tuning: 6.0000.',
    )

  def _format(self, *, axes='', metric='', **summary):
    return closing_line.format_line(
      _build(f'fed_avg{axes}', metric),
      {
        'status': 'finished',
        'rounds': 9,
        'diverged_rounds': [],
        'totals': {'excluded_clients': 0},
        'test': {'global/loss': 1.0},
        'final': {'eval/global/loss': 2.0},
        'model_round': 9,
        **summary,
      },
    )

  @parameterized.parameters(
    ('loss', ''),
    (
      'accuracy',
      '; early stopping by validation accuracy, global model',
    ),
  )
  def test_the_column_that_stopped_is_told_where_another_judges(
    self, metric, told
  ):
    line = self._format(metric=f'eval/global/{metric}')
    self.assertEndsWith(
      line,
      'Loss on 2 test clients: global model 1.0000. Judged by validation loss, '
      f'global model: 2.0000{told}.',
    )

  @parameterized.parameters(
    (0.0, '0.0000'), (0.001, '0.0010'), (2.345678e-6, '2.346e-06')
  )
  def test_a_small_loss_is_not_told_as_none(self, loss, told):
    line = self._format(test={'global/loss': loss})
    self.assertIn(f'global model {told}. Judged', line)

  @parameterized.parameters(
    (5, '; the model is that of round 5: Loss on 2 test clients: global'),
    (7, None),
    (9, None),
  )
  def test_a_model_before_the_divergence_is_a_result(self, model_round, told):
    line = self._format(
      status='diverged',
      diverged={'round': 7, 'reason': 'nothing was finite'},
      model_round=model_round,
    )
    expected = 'Diverged in round 7: nothing was finite'
    self.assertStartsWith(line, expected + (told or '.'))
    self.assertEqual('Loss' in line, told is not None)

  @parameterized.parameters(
    ([], 0, ''),
    ([7, 9], 0, '2 rounds have diverged, the last is round 9. '),
    (
      [3],
      6,
      '1 round has diverged, the last is round 3. 6 updates of clients were '
      'left out, since not finite. ',
    ),
    ([], 1, '1 update of clients was left out, since not finite. '),
  )
  def test_what_diverged_on_the_way_is_told(self, rounds, excluded, told):
    line = self._format(
      diverged_rounds=rounds, totals={'excluded_clients': excluded}
    )
    self.assertStartsWith(
      line, f'Done: 9 rounds of FedAvg, early stopping. {told}Loss on '
    )

  def test_epsilon_names_its_accountant(self):
    line = self._format(
      axes=',privacy=gaussian',
      privacy={'epsilon': 1.23456, 'delta': 1e-3, 'accountant': 'pld'},
    )
    self.assertIn(', epsilon 1.235 at delta 0.001 (by PLD). Loss', line)


_TRAIN = softmax_task.SIZES['train']


def _step(weights, client_id, epochs=1):
  return softmax_regression.numpy_train(
    weights,
    [softmax_task.clients()[client_id][0]] * epochs,
    rate=softmax_task.CLIENT_RATE,
  )


def _score(weights, client_id):
  return softmax_regression.numpy_metrics(
    weights, softmax_task.clients()[client_id][1]
  )['loss']


def _expected(method):
  """Returns the loss of each client by group, after one round of all."""
  start = softmax_regression.initial_weights()
  trained = {c: _step(start, c) for c in _TRAIN}
  # Ditto's mean is uniform, as published.
  sizes = [1 if method == 'ditto' else size for size, _ in _TRAIN.values()]
  mean = [
    np.average(parts, axis=0, weights=sizes) for parts in zip(*trained.values())
  ]
  # FedPer's server keeps its first head; Ditto's server is FedAvg's.
  server = [mean[0], start[1]] if method == 'fed_per' else mean
  own = {
    'fed_avg': lambda c: mean,
    'fed_per': lambda c: [mean[0], trained[c][1]],
    # The pull is zero at the round's weights, where the own model starts.
    'ditto': lambda c: trained[c],
  }[method]
  scores = {'own_global': {c: _score(server, c) for c in _TRAIN}}
  if method != 'fed_avg':
    scores['own'] = {c: _score(own(c), c) for c in _TRAIN}
  if method != 'ditto':
    scores['own_fine_tuned'] = {
      c: _score(_step(own(c), c, softmax_task.EPOCHS), c) for c in _TRAIN
    }
  return scores


class OwnClientsTest(parameterized.TestCase):
  @pytest.mark.thorough
  def test_a_finished_run_scores_each_client(self):
    self._check('fed_per')

  @parameterized.parameters('fed_avg', 'ditto')
  @pytest.mark.thorough
  def test_methods_with_fewer_scores(self, method):
    self._check(method)

  def _check(self, method):
    """The scores and their means are those of NumPy."""
    values = softmax_task.make_config(method, ())
    values['cohort_size'] = 3
    workdir = pathlib.Path(self.create_tempdir().full_path) / 'w'
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
      summary = training_run.train_task(
        config_checks.read(values),
        softmax_task.make_task(),
        training_run.RunOptions(workdir=workdir),
      )
    with open(workdir / run_reader.OWN_CLIENTS_CSV, newline='') as file:
      rows = {row['client_id']: row for row in csv.DictReader(file)}
    self.assertEqual(list(rows), list(_TRAIN))
    expected = _expected(method)
    self.assertEqual('own/loss' in rows['a'], 'own' in expected)
    for client_id, row in rows.items():
      self.assertEqual((row['round'], row['split']), ('1', 'train'))
      self.assertEqual(int(row['num_examples']), _TRAIN[client_id][1])
      for group, losses in expected.items():
        tolerance.assert_close(
          float(row[f'{group}/loss']),
          losses[client_id],
          relative=tolerance.FLOAT32_STEPS,
          err_msg=f'{group} of {client_id}',
        )
    for group, losses in expected.items():
      mean = np.mean(list(losses.values()))
      tolerance.assert_close(
        summary['final'][f'eval/{group}/loss'],
        mean,
        relative=tolerance.FLOAT32_STEPS,
      )
      self.assertIn(f'{mean:.4f}', printed.getvalue())
    frames = frames_lib.read([workdir])
    self.assertLen(frames.own_clients, len(_TRAIN))
    self.assertTrue((workdir / 'plots/own_client_spread_loss.png').exists())

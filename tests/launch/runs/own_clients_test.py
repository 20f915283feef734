# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of training clients' own scores, against NumPy, and of the last line."""

import contextlib
import csv
import io
import pathlib
import re

from launch.methods import config_checks
from launch.methods import early_stopping
from launch.results import frames as frames_lib
from launch.results import run_reader
from launch.runs import closing_line
from launch.runs import experiment as experiment_lib
from launch.runs import training_run
from tests import tolerance
from tests.evaluation import softmax_regression
from tests.launch.runs import softmax_task

from absl.testing import parameterized
import numpy as np

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
  @parameterized.parameters('fed_avg', 'fed_per', 'ditto')
  def test_a_finished_run_scores_each_client(self, method):
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


class ClosingLineTest(parameterized.TestCase):
  def test_all_scores_stand_side_by_side(self):
    experiment = experiment_lib.build_experiment_of(
      config_checks.read(softmax_task.make_config('fed_per', ())),
      softmax_task.make_task(),
    )
    line = closing_line.format_line(
      experiment,
      {
        'status': 'finished',
        'rounds': 1,
        'test': {
          'global/loss': 1.0,
          'personalized/loss': None,
          'personalized/diverged_clients': 1,
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
      re.sub(r'^Done: [^.]*\. ', '', line),
      'Loss on 2 test clients: global model 1.0000, after fine-tuning diverged '
      'for 1 of 2 clients; on own test data of 2 test clients: global model '
      '3.0000, after fine-tuning 4.0000; on own test data of 3 '
      'training clients: global model 5.0000, own models diverged for 2 of 3 '
      "clients, after fine-tuning 7.0000. Judged by validation clients' own "
      'test loss, after fine-tuning: 6.0000.',
    )

  def _format(self, **summary):
    config = softmax_task.make_config('fed_avg', ()) | {
      'early_stopping': early_stopping.BLOCK.defaults()
    }
    config['evaluation']['personalization_epochs'] = 0
    experiment = experiment_lib.build_experiment_of(
      config_checks.read(config), softmax_task.make_task(own_test=None)
    )
    return closing_line.format_line(
      experiment,
      {
        'status': 'finished',
        'rounds': 9,
        'test': {'global/loss': 1.0},
        'final': {'eval/global/loss': 2.0},
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
    line = self._format(
      early_stopping={
        'metric': f'eval/global/{metric}',
        'model_round': 9,
        'stopped': None,
      }
    )
    self.assertEndsWith(
      line,
      'Loss on 2 test clients: global model 1.0000. Judged by validation loss, '
      f'global model: 2.0000{told}.',
    )

  @parameterized.parameters(
    (5, '; the model is that of round 5: Loss on 2 test clients: global'),
    (7, None),
    (9, None),
  )
  def test_a_model_before_the_divergence_is_a_result(self, model_round, told):
    line = self._format(
      status='diverged',
      diverged={'round': 7, 'reason': 'nothing was finite'},
      early_stopping={
        'metric': 'eval/global/loss',
        'model_round': model_round,
        'stopped': None,
      },
    )
    expected = 'Diverged in round 7: nothing was finite'
    self.assertStartsWith(line, expected + (told or '.'))
    self.assertEqual('Loss' in line, told is not None)

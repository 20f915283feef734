# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of training clients' own scores, against NumPy."""

import contextlib
import csv
import io
import pathlib

from launch.methods import config_checks
from launch.results import frames as frames_lib
from launch.results import run_reader
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

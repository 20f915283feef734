# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The last line of a run names the model and the data of each score."""

import re

from launch.methods import config_checks
from launch.methods import early_stopping
from launch.runs import closing_line
from launch.runs import experiment as experiment_lib
from tests.launch.runs import softmax_task

from absl.testing import parameterized


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
        'model_round': 1,
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
      re.sub(r'^Done: 1 round of [^.]*\. ', '', line),
      'Loss on 2 test clients: global model 1.0000, after fine-tuning diverged '
      'for 1 of 2 clients; on own test data of 2 test clients: global model '
      '3.0000, after fine-tuning 4.0000; on own test data of 3 '
      'training clients: global model 5.0000, own models diverged for 2 of 3 '
      "clients, after fine-tuning 7.0000. Judged by validation clients' own "
      'test loss, after fine-tuning: 6.0000.',
    )

  def _format(self, *, axes='', metric='', **summary):
    config = softmax_task.make_config(f'fed_avg{axes}', ()) | {
      'early_stopping': early_stopping.BLOCK.defaults() | {'metric': metric}
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

  def test_epsilon_names_its_accountant(self):
    line = self._format(
      axes=',privacy=gaussian',
      privacy={'epsilon': 1.23456, 'delta': 1e-3, 'accountant': 'pld'},
    )
    self.assertIn(', epsilon 1.235 at delta 0.001 (by PLD). Loss', line)

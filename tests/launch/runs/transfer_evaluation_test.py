# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the clients of a target and of the tables of their scores."""

import csv
import io

from fedfish_tff import datasets
from fedfish_tff import errors
from launch.runs import held_out_evaluation
from launch.runs import transfer_evaluation
from tests.evaluation import softmax_regression

from absl.testing import absltest
import numpy as np

_SIZES = {'a': 9, 'b': 12, 'c': 3, 'd': 1, 'e': 4}
_COLUMNS = ('before', 'few_shot_25', 'after')


def _clients():
  return datasets.InMemoryClientData(
    {
      name: softmax_regression.draw_examples(size, seed)
      for seed, (name, size) in enumerate(_SIZES.items())
    }
  )


def _select(**options):
  return transfer_evaluation.select_clients(
    'news', _clients(), seed=0, **options
  )


class SelectClientsTest(absltest.TestCase):
  def test_small_clients_are_counted(self):
    data, num_too_small = _select()
    self.assertEqual(list(data.client_ids), ['a', 'b', 'e'])
    self.assertEqual(num_too_small, 2)

  def test_some_are_drawn(self):
    data, num_too_small = _select(max_clients=4)
    self.assertEqual(len(data.client_ids) + num_too_small, 4)
    again, _ = _select(max_clients=4)
    self.assertEqual(list(data.client_ids), list(again.client_ids))
    self.assertLen(_select(max_clients=5)[0].client_ids, 3)

  def test_a_target_of_small_clients_only(self):
    with self.assertRaisesRegex(
      errors.InputError, 'None of the 2 held-out clients of target news has the'
    ):
      transfer_evaluation.select_clients(
        'news', _clients().select(['c', 'd']), seed=0
      )


class TablesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    nan = float('nan')
    self._scores = held_out_evaluation.Scores(
      rows={
        client_id: {'num_unseen': 3}
        | {f'{column}/loss': value for column, value in zip(_COLUMNS, values)}
        for client_id, values in {
          'a': (1.0, 2.0, 3.0),
          'b,': (2.0, 4.0, nan),
        }.items()
      },
      totals={column: {'loss': 7.5} for column in _COLUMNS},
    )
    self._found = transfer_evaluation.summarize(
      self._scores,
      {'loss': False},
      target='news',
      round_number=6,
      split='test',
      num_too_small=4,
    )

  def test_a_row_a_share(self):
    self.assertEqual([s.percent for s in self._found], [0, 25, 50])
    self.assertEqual([s.mean for s in self._found], [1.5, 3.0, 3.0])
    self.assertEqual([s.num_diverged for s in self._found], [0, 0, 1])
    for score in self._found:
      self.assertEqual((score.num_clients, score.num_too_small), (2, 4))
      self.assertEqual(score.all_tokens, 7.5)
      # Two clients have no interval.
      np.testing.assert_equal((score.low, score.high), (np.nan, np.nan))

  def test_csv(self):
    content = transfer_evaluation.scores_to_csv(self._found).decode()
    rows = list(csv.DictReader(io.StringIO(content)))
    self.assertLen(rows, 3)
    self.assertEqual((rows[1]['percent'], rows[1]['mean']), ('25', '3.0'))
    self.assertEqual(rows[2]['low'], '')
    content = transfer_evaluation.clients_to_csv(
      {('news', 6): self._scores}, ['loss'], split='test'
    ).decode()
    self.assertEqual(
      content.splitlines(),
      [
        'target,client_id,round,split,percent,num_unseen,loss',
        'news,a,6,test,0,3,1.0',
        'news,a,6,test,25,3,2.0',
        'news,a,6,test,50,3,3.0',
        'news,"b,",6,test,0,3,2.0',
        'news,"b,",6,test,25,3,4.0',
        'news,"b,",6,test,50,3,nan',
      ],
    )

  def test_text(self):
    # A count is no score.
    found = [*self._found, self._found[0]._replace(metric='num_tokens')]
    head, line = transfer_evaluation.format_scores(found).splitlines()
    self.assertEqual(
      head.split(),
      ['target', 'round', 'metric', 'clients', '0', '%', '25', '%', '50', '%'],
    )
    self.assertIn('2 (4 too small)', line)
    self.assertIn('1.5, all 7.5', line)
    self.assertIn('3, all 7.5 (diverged: 1)', line)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the table of transfer over workdirs."""

import csv
import dataclasses
import io
import itertools

from launch.results import frames
from launch.results import settings
from launch.results import text_table
from launch.results import transfer_table
from tests.launch.results import fake_runs

from absl.testing import absltest
import numpy as np


def _rows(change=None, **kwargs):
  runs = fake_runs.make_setting_runs(tasks=('c4',), **kwargs)
  runs = fake_runs.with_transfer(runs)
  if change is not None:
    runs = [
      dataclasses.replace(run, transfer=change(run, run.transfer))
      for run in runs
    ]
  return transfer_table.transfer_rows(fake_runs.read_settings(runs))


class TransferRowsTest(absltest.TestCase):
  def test_means_deviations_and_differences(self):
    rows = _rows(seeds=(0, 1, 2))
    # Targets, metrics, rounds, shares, methods, local epochs; without counts.
    self.assertLen(rows, 2 * 2 * 2 * 3 * 2 * 2)
    for row in rows.itertuples():
      gain = 0.1 if row.method == 'FedFish' else 0.0
      score = gain + 0.01 + (0.05 if row.at == 'R/2' else 0.1)
      self.assertEqual((row.task, row.seeds, row.rounds), ('c4', 3, 6))
      np.testing.assert_allclose(row.mean, score + 0.002 * row.percent)
      np.testing.assert_allclose(row.all_tokens, score + 0.5)
      np.testing.assert_allclose(row.deviation, 0.01)
      if not gain:
        self.assertEqual(
          (row.baseline, row.pairs, row.wins, row.ties), ('', 0, 0, 0)
        )
        self.assertTrue(np.isnan(row.difference))
        continue
      self.assertEqual((row.baseline, row.pairs), ('FedAvg', 3))
      np.testing.assert_allclose(row.difference, 0.1)
      # More perplexity is worse.
      self.assertEqual(row.wins, 3 if row.metric == 'accuracy' else 0)

  def test_targets_and_metrics_are_as_given_and_shares_rise(self):
    rows = _rows(lambda run, scores: scores[::-1])
    columns = ['target', 'metric', 'at', 'percent', 'method', 'local_epochs']
    self.assertEqual(
      list(rows[columns].itertuples(index=False, name=None)),
      list(
        itertools.product(
          ('cc_news', 'c4'),
          ('perplexity', 'accuracy'),
          ('R/2', 'R'),
          (0, 25, 50),
          ('FedAvg', 'FedFish'),
          (1, 8),
        )
      ),
    )

  def test_a_seed_that_diverged_is_no_pair(self):
    def change(run, scores):
      if (run.seed, run.algorithm) != (1, 'fed_fish'):
        return tuple(s._replace(num_diverged=2) for s in scores)
      return tuple(
        s._replace(mean=np.inf, all_tokens=np.inf, num_diverged=20)
        for s in scores
      )

    for row in _rows(change, seeds=(0, 1, 2)).itertuples():
      expected = (2, 2, 1, 24) if row.method == 'FedFish' else (3, 0, 0, 6)
      self.assertEqual(
        (row.seeds, row.pairs, row.diverged, row.num_diverged), expected
      )

  def test_the_direction_is_that_of_the_task(self):
    runs = [
      dataclasses.replace(run, higher_is_better=False)
      for run in fake_runs.make_setting_runs(tasks=('c4',))
    ]
    settings_of = fake_runs.read_settings(fake_runs.with_transfer(runs))
    rows = transfer_table.transfer_rows(settings_of)
    of = rows[(rows['metric'] == 'accuracy') & (rows['pairs'] > 0)]
    self.assertEqual(set(of['wins']), {0})

  def test_starts_of_clients_models_are_compared_after_fine_tuning(self):
    runs = fake_runs.make_setting_runs(
      tasks=('c4',), algorithms=('fed_avg', 'fed_rep', 'ditto', 'hf_maml')
    )
    rows = transfer_table.transfer_rows(
      fake_runs.read_settings(fake_runs.with_transfer(runs))
    )
    self.assertEqual(
      set(rows['method'][(rows['percent'] == 0) & (rows['pairs'] > 0)]),
      {'Ditto'},
    )
    rows = rows[rows['method'] == 'FedRep']
    self.assertEqual(set(rows['percent'][rows['baseline'] == '']), {0})
    self.assertEqual(
      set(rows['percent'][rows['baseline'] == 'FedAvg']), {25, 50}
    )
    self.assertEqual(
      set(rows['note'][rows['percent'] == 0]), {"a start for clients' models"}
    )

  def test_rounds_have_names(self):
    run = fake_runs.make_setting_run(rounds=7)
    (score, *_) = fake_runs.make_transfer_scores(run)
    scores = tuple(score._replace(round=n, mean=n) for n in (3, 4, 7))
    run = fake_runs.to_run(dataclasses.replace(run, transfer=scores))
    for model_round in (7, 4):
      run.about['model_round'] = model_round
      found = settings.read_settings(frames.label(frames.join([run])))
      points = transfer_table.read_points(found)
      self.assertEqual(list(points['at']), ['R/2', 'R'])
      self.assertEqual(list(points['mean']), [3, model_round])

  def test_nothing_scored(self):
    self.assertEmpty(_rows(lambda run, scores: ()))

  def test_one_method_and_seed(self):
    rows = _rows(seeds=(4,), algorithms=('fed_avg',))
    content = text_table.frame_to_csv(rows).decode()
    first = next(csv.DictReader(io.StringIO(content)))
    self.assertEqual((first['seeds'], first['deviation']), ('1', ''))
    self.assertEqual((first['baseline'], first['difference']), ('', ''))

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the statistics over clients."""

from fedfish_tff import errors
from fedfish_tff.evaluation import client_statistics

from absl.testing import parameterized
import numpy as np


def _clients(values, sizes):
  return [dict(num_examples=n, accuracy=v) for v, n in zip(values, sizes)]


class ClientStatisticsTest(parameterized.TestCase):
  def test_means_follow_numpy(self):
    values, sizes = [0.2, 0.4, 0.9], [10, 30, 60]
    clients = _clients(values, sizes)
    self.assertAlmostEqual(
      client_statistics.mean_over_clients(clients, 'accuracy'),
      np.mean(values),
    )
    self.assertAlmostEqual(
      client_statistics.mean_over_clients(
        clients, 'accuracy', weighting='examples'
      ),
      0.68,
    )

  @parameterized.parameters('uniform', 'examples')
  def test_clients_without_examples_are_left_out(self, weighting):
    clients = _clients([0.5, float('nan'), 0.0, 0.5], [2, 0, 0, 8])
    self.assertEqual(
      client_statistics.mean_over_clients(
        clients, 'accuracy', weighting=weighting
      ),
      0.5,
    )

  def test_the_deviation_follows_numpy(self):
    values = [0.2, 0.4, 0.9]
    self.assertAlmostEqual(
      client_statistics.standard_deviation(values), np.std(values)
    )
    self.assertEqual(client_statistics.standard_deviation([0.3]), 0)

  def test_no_scored_client_is_missing_not_zero(self):
    clients = _clients([0.0], [0])
    self.assertTrue(np.isnan(client_statistics.standard_deviation([])))
    for weighting in ('uniform', 'examples'):
      mean = client_statistics.mean_over_clients(
        clients, 'accuracy', weighting=weighting
      )
      self.assertTrue(np.isnan(mean))
    self.assertTrue(np.isnan(client_statistics.worst_tenth([])))

  @parameterized.parameters(float('nan'), float('inf'))
  def test_a_diverged_client_makes_all_statistics_nan(self, value):
    values = [0.5, value, 0.2]
    clients = _clients(values, [2, 3, 4])
    found = [
      *(
        client_statistics.mean_over_clients(clients, 'accuracy', weighting=w)
        for w in ('uniform', 'examples')
      ),
      *client_statistics.spread(
        'x', np.array(values), higher_is_better=True
      ).values(),
      *client_statistics.quantiles('x', np.array(values)).values(),
    ]
    self.assertLen(found, 8)
    self.assertTrue(np.isnan(found).all())
    self.assertEqual(client_statistics.count_diverged(values), 1)

  @parameterized.parameters(
    ([0.3, 0.3, 0.3], 1.0),
    ([1.0, 0.0, 0.0, 0.0], 0.25),
    ([1.0, 2.0, 3.0], 36 / 42),
    ([0.0, 0.0], 1.0),
  )
  def test_jain_s_index(self, values, expected):
    self.assertAlmostEqual(client_statistics.jain_index(values), expected)

  def test_unknown_metric_and_weighting_are_named(self):
    clients = _clients([0.5], [2])
    with self.assertRaisesRegex(errors.InputError, "'mse'.*accuracy"):
      client_statistics.mean_over_clients(clients, 'mse')
    with self.assertRaisesRegex(errors.InputError, 'uniform, examples'):
      client_statistics.mean_over_clients(clients, 'accuracy', weighting='size')

  def test_worst_tenth_is_the_mean_of_the_lowest_decile(self):
    values = np.random.default_rng(0).permutation(np.arange(40.0))
    self.assertEqual(client_statistics.worst_tenth(values), 1.5)
    self.assertEqual(
      client_statistics.worst_tenth(values, higher_is_better=False), 37.5
    )

  @parameterized.parameters((1, 1), (10, 1), (11, 2), (20, 2), (21, 3))
  def test_worst_tenth_rounds_up(self, num_clients, num_worst):
    values = np.arange(float(num_clients))
    self.assertEqual(
      client_statistics.worst_tenth(values), np.mean(values[:num_worst])
    )

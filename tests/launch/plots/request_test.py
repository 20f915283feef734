# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is to be drawn."""

from launch.plots import request
from tests.launch.results import fake_runs

from absl.testing import absltest


class RequestTest(absltest.TestCase):
  def test_a_title_names_the_only_task(self):
    runs = [fake_runs.make_run(task=task) for task in ('digits', 'emnist')]
    one = request.Request({'a': runs[:1], 'b': runs[:1]}, 'csb/accuracy')
    self.assertEqual(one.title('Barrier'), 'Barrier (digits)')
    both = one._replace(groups={'a': runs})
    self.assertEqual(both.title('Barrier'), 'Barrier')

  def test_files_of_long_labels_have_short_names_of_their_own(self):
    self.assertEqual(request.slug('FedAvg, beta 0.5'), 'fedavg_beta_0.5')
    long = 'FedFish, ' + 100 * 'a field and its value, '
    one, other = request.slug(long + '1'), request.slug(long + '2')
    self.assertNotEqual(one, other)
    self.assertLess(len(one), 100)

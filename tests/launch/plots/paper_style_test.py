# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the layouts share."""

from launch.plots import paper_style
from tests.launch.results import fake_runs

from absl.testing import absltest


def _settings(epochs):
  specs = [(number, 6) for number in epochs]
  return fake_runs.read_settings(fake_runs.make_setting_runs(specs))


def _labels(groups):
  return [[entry.get_label() for entry in group] for group in groups]


class SeriesLooksTest(absltest.TestCase):
  def test_the_most_epochs_have_the_solid_line(self):
    looks, groups = paper_style.series_looks(_settings([16, 1, 8]))
    lines = {(s.method, s.local_epochs): of for s, of in looks.items()}
    self.assertEqual(lines['FedFish', 16]['linestyle'], '-')
    self.assertLen({str(of['linestyle']) for of in lines.values()}, 3)
    self.assertLen({of['color'] for of in lines.values()}, 2)
    self.assertEqual(
      _labels(groups),
      [
        ['FedAvg', 'FedFish'],
        ['1 local epoch', '8 local epochs', '16 local epochs'],
      ],
    )

  def test_lines_of_methods_differ_where_epochs_do_not(self):
    for epochs, by_epochs in (([4], True), ([1, 4], False)):
      looks, groups = paper_style.series_looks(
        _settings(epochs), by_epochs=by_epochs
      )
      self.assertLen({str(of['linestyle']) for of in looks.values()}, 2)
      self.assertEqual(_labels(groups), [['FedAvg', 'FedFish']])

  def test_markers_differ(self):
    self.assertLen(set(paper_style.epoch_markers(range(1, 9)).values()), 8)

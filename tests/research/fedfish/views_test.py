# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the settings at fixed rounds and at fixed compute."""

from launch.results import settings
from research.fedfish import views
from tests.launch.results import fake_runs

from absl.testing import absltest


def _read(*specs):
  """Each spec is (algorithm, local epochs, rounds[, task])."""
  runs = [
    fake_runs.make_setting_run(
      algorithm, local_epochs=epochs, rounds=rounds, task=task
    )
    for algorithm, epochs, rounds, task in (
      (*spec, 'digits')[:4] for spec in specs
    )
  ]
  return fake_runs.read_settings(runs)


def _keys(found):
  table = settings.describe(found).drop(columns='total_epochs')
  return list(table.itertuples(index=False, name=None))


class ViewsTest(absltest.TestCase):
  def test_fixed_rounds_are_those_of_most_epochs_task_by_task(self):
    found = _read(
      ('fed_avg', 1, 6),
      ('fed_avg', 8, 6),
      ('fed_avg', 1, 48),
      ('fed_avg', 1, 12, 'emnist'),
      ('fed_avg', 16, 12, 'emnist'),
      # One number of epochs makes no view.
      ('fed_avg', 1, 5, 'cifar100'),
    )
    self.assertEqual(
      _keys(views.fixed_rounds(found)),
      [
        ('digits', 'FedAvg', 1, 6),
        ('digits', 'FedAvg', 8, 6),
        ('emnist', 'FedAvg', 1, 12),
        ('emnist', 'FedAvg', 16, 12),
      ],
    )

  def test_fixed_compute_forgives_rounding(self):
    # 100 local epochs make 6.25 rounds of 16.
    found = _read(('fed_avg', 1, 100), ('fed_avg', 16, 6), ('fed_avg', 8, 6))
    self.assertEqual(
      _keys(views.fixed_compute(found)),
      [('digits', 'FedAvg', 1, 100), ('digits', 'FedAvg', 16, 6)],
    )

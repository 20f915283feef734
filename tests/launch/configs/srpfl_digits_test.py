# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""SRPFL beside FedRep, scored on clients' own data."""

import csv
import json
import pathlib

from launch.configs import srpfl_digits
from tests.launch import small_configs

from absl.testing import absltest
import pytest

_SCORE = 'eval/own_fine_tuned/accuracy'


def _configs():
  """Returns the configs of FedRep, SRPFL and FedAvg, by these names."""
  variants = [run.variant for run in srpfl_digits.sweep('methods')]
  return {
    name: srpfl_digits.get_config(variant).to_dict()
    for name, variant in zip(('fed_rep', 'srpfl', 'fed_avg'), variants)
  }


class SrpflDigitsTest(absltest.TestCase):
  def test_runs_differ_in_the_method_or_participation(self):
    runs = _configs()
    fed_rep, srpfl = runs['fed_rep'], runs['srpfl']
    self.assertEqual(srpfl['participation']['n0'], 8)
    self.assertEqual(
      srpfl['participation']['speeds'], fed_rep['participation']['speeds']
    )
    for run in (fed_rep, srpfl):
      del run['participation']
    self.assertEqual(fed_rep, srpfl)
    self.assertEqual(runs['fed_avg']['algorithm']['name'], 'fed_avg')

  @pytest.mark.thorough
  def test_srpfl_waits_for_fewer(self):
    runs = _configs()
    runs['srpfl']['participation']['rounds_per_stage'] = 2
    workdir = pathlib.Path(self.create_tempdir())
    rows = {}
    for name, config in runs.items():
      config.update(rounds=4, local_epochs=2, evaluate_every=2)
      config['evaluation']['personalization_epochs'] = 1
      small_configs.train(config, workdir / name)
      with open(workdir / name / 'metrics.csv', newline='') as file:
        rows[name] = [r for r in csv.DictReader(file) if r[_SCORE]]
      self.assertEqual([r['round'] for r in rows[name]], ['0', '2', '4'])
      summary = json.loads((workdir / name / 'summary.json').read_text())
      self.assertEqual(
        summary['best_validation']['metric'], 'eval/new_fine_tuned/accuracy'
      )
      self.assertIn('new_fine_tuned/accuracy', summary['test'])
    # One start, one test set, whatever comes of it; FedAvg tunes the whole
    # model, FedRep the head.
    self.assertEqual(
      rows['srpfl'][0][_SCORE],
      rows['fed_rep'][0][_SCORE],
    )
    self.assertGreater(
      float(rows['fed_avg'][0][_SCORE]),
      float(rows['fed_rep'][0][_SCORE]),
    )
    seconds = {n: float(rows[n][-1]['simulated/seconds']) for n in rows}
    self.assertEqual(seconds['fed_rep'], seconds['fed_avg'])
    self.assertLess(seconds['srpfl'], seconds['fed_rep'] / 2)

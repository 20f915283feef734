# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""SRPFL beside FedRep, scored on clients' own data."""

import contextlib
import csv
import io
import json
import pathlib

from launch.configs import srpfl_digits
from launch.methods import config_checks
from tests.launch import small_configs

from absl.testing import absltest
import pytest


class SrpflDigitsTest(absltest.TestCase):
  def test_runs_differ_in_what_they_are_named_for(self):
    config = srpfl_digits.get_config().to_dict()
    config_checks.read_runs(config)
    runs = config['runs']
    fed_rep, srpfl = runs['fed_rep'], runs['srpfl']
    self.assertEqual(srpfl['participation']['n0'], 8)
    self.assertEqual(
      srpfl['participation']['speeds'], fed_rep['participation']['speeds']
    )
    for run in (fed_rep, srpfl):
      del run['participation']
    self.assertEqual(fed_rep, srpfl)
    self.assertEqual(runs['fed_avg_ft']['algorithm']['name'], 'fed_avg')

  @pytest.mark.thorough
  def test_srpfl_waits_for_fewer(self):
    config = srpfl_digits.get_config().to_dict()
    for run in config['runs'].values():
      run.update(rounds=4, local_epochs=2, evaluate_every=2)
      run['evaluation']['personalization_epochs'] = 1
    config['runs']['srpfl']['participation']['rounds_a_stage'] = 2
    workdir = pathlib.Path(self.create_tempdir())
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
      small_configs.train(config, workdir)
    rows = {}
    for name in config['runs']:
      with open(workdir / name / 'metrics.csv', newline='') as file:
        rows[name] = [r for r in csv.DictReader(file) if r['eval/own/accuracy']]
      self.assertEqual([r['round'] for r in rows[name]], ['0', '2', '4'])
      summary = json.loads((workdir / name / 'summary.json').read_text())
      self.assertEqual(
        summary['best_validation']['metric'], 'eval/unseen/accuracy'
      )
      self.assertIn('unseen/accuracy', summary['test'])
    # One start, one test set, whatever comes of it; FedAvg tunes the whole
    # model, FedRep the head.
    self.assertEqual(
      rows['srpfl'][0]['eval/own/accuracy'],
      rows['fed_rep'][0]['eval/own/accuracy'],
    )
    self.assertGreater(
      float(rows['fed_avg_ft'][0]['eval/own/accuracy']),
      float(rows['fed_rep'][0]['eval/own/accuracy']),
    )
    seconds = {n: float(rows[n][-1]['simulated/seconds']) for n in rows}
    self.assertEqual(seconds['fed_rep'], seconds['fed_avg_ft'])
    self.assertLess(seconds['srpfl'], seconds['fed_rep'] / 2)
    plot = workdir / 'plots' / 'eval_own_accuracy_by_simulated_seconds.png'
    self.assertTrue(plot.exists())
    self.assertRegex(
      printed.getvalue(), r'run +simulated seconds +best +seconds'
    )

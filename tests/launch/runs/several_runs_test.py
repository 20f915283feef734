# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the runs of one config, and of what they share."""

import contextlib
import csv
import io
import json
import pathlib
import tempfile
from unittest import mock

from fedfish_tff import errors
from launch.methods import config_checks
from launch.runs import experiment
from launch.runs import ridge_check
from launch.runs import several_runs
from tests.launch import small_configs

from absl.testing import absltest
import pytest

# By the name of its folder, the variant of a run.
_VARIANTS = {
  'fed_ncm': 'fed_ncm',
  'fed3r': 'fed3r',
  'fed_avg': 'fed_avg',
  'fed3r_ft_lp': 'fed_avg,fine_tuning=ft_lp,start=fed3r',
}


def _make_config(names=tuple(_VARIANTS), **changes):
  runs = {name: small_configs.make_config(_VARIANTS[name]) for name in names}
  for run in runs.values():
    algorithm = run.get('fine_tuning', {}).get('start', run['algorithm'])
    if 'accumulator' in algorithm:
      algorithm['accumulator'] = 'float64'
  return {'runs': runs, 'check_ridge': 'fed3r', **changes}


def _train(config, workdir, **options):
  """Returns what is printed."""
  printed = io.StringIO()
  with contextlib.redirect_stdout(printed):
    small_configs.train(config, workdir, **options)
  return printed.getvalue()


def _columns(workdir):
  with open(workdir / 'metrics.csv', newline='', encoding='utf-8') as file:
    return [
      {k: v for k, v in row.items() if not k.startswith('time/')}
      for row in csv.DictReader(file)
    ]


class FormatTest(absltest.TestCase):
  def test_runs_that_never_had_a_number(self):
    """A run that diverged has no best round and no scores."""
    table = several_runs.format_summaries(
      {
        'diverged': {
          'rounds': 3,
          'totals': {'wire_bytes': 1_234_567},
          'final': {'eval/global/accuracy': None},
          'test': {'global/accuracy': None},
          'best_validation': None,
        }
      }
    )
    self.assertRegex(
      table.splitlines()[1], r'^diverged  3 +1\.23 +not finite  not finite$'
    )


@pytest.mark.thorough
class SeveralRunsTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(small_configs.built_once())
    folder = cls.enterClassContext(tempfile.TemporaryDirectory())
    cls.workdir = pathlib.Path(folder) / 'w'
    cls.config = _make_config()
    config_checks.read_runs(cls.config)
    with mock.patch.object(
      experiment,
      'create_task',
      autospec=True,
      side_effect=experiment.create_task,
    ) as cls.create_task:
      cls.printed = _train(cls.config, cls.workdir)

  def test_runs_of_one_task_and_seed_share_its_clients(self):
    self.assertEqual(self.create_task.call_count, 1)

  def test_every_run_has_a_workdir(self):
    for name in _VARIANTS:
      self.assertEqual(
        json.loads((self.workdir / name / 'config.json').read_text()),
        json.loads(json.dumps(self.config['runs'][name])),
      )

  def test_a_fine_tuning_starts_from_the_run_there_is(self):
    fine_tuned = self.workdir / 'fed3r_ft_lp'
    self.assertTrue((fine_tuned / 'start.npz').exists())
    self.assertFalse((fine_tuned / 'start').exists())
    alone = self.workdir.parent / 'alone'
    with contextlib.redirect_stdout(io.StringIO()):
      small_configs.train(self.config['runs']['fed3r_ft_lp'], alone)
    self.assertTrue((alone / 'start').exists())
    self.assertEqual(_columns(alone), _columns(fine_tuned))

  def test_prints_a_table_of_what_each_reached(self):
    lines = self.printed.splitlines()
    header = next(i for i, line in enumerate(lines) if line.startswith('run '))
    self.assertEqual(
      lines[header].split(),
      ['run', 'rounds', 'MB', 'sent', 'validation', 'test'],
    )
    for name, line in zip(_VARIANTS, lines[header + 1 :]):
      summary = json.loads((self.workdir / name / 'summary.json').read_text())
      self.assertEqual(
        line.split(),
        [
          name,
          str(summary['rounds']),
          f'{summary["totals"]["wire_bytes"] / 1e6:.2f}',
          f'{summary["final"]["eval/global/accuracy"]:.4f}',
          f'{summary["test"]["global/accuracy"]:.4f}',
        ],
      )
    self.assertRegex(
      lines[-1],
      "^fed3r is scikit-learn's Ridge on all training examples in one place: "
      r'the largest difference is \d\.\de-\d\d of the largest weight',
    )

  def test_draws_all_runs_against_rounds_steps_and_bytes(self):
    for x in ('round', 'local_steps', 'bytes'):
      path = self.workdir / 'plots' / f'eval_global_accuracy_by_{x}.png'
      self.assertTrue(path.exists(), path)
      self.assertIn(str(path), self.printed)

  def test_the_same_again_trains_nothing(self):
    before = {name: _columns(self.workdir / name) for name in _VARIANTS}
    times = {
      path: path.stat().st_mtime_ns
      for path in self.workdir.rglob('program_state_*')
    }
    self.assertNotEmpty(times)
    again = _train(self.config, self.workdir)
    self.assertEqual(
      {name: _columns(self.workdir / name) for name in _VARIANTS}, before
    )
    self.assertEqual(
      {
        path: path.stat().st_mtime_ns
        for path in self.workdir.rglob('program_state_*')
      },
      times,
    )
    self.assertEqual(again, self.printed)

  def test_a_classifier_that_is_not_the_centralised_one_fails(self):
    with mock.patch.object(ridge_check, 'TOLERANCE', 1e-30):
      with self.assertRaises(ridge_check.RidgeMismatchError):
        _train(_make_config(['fed3r']), self.workdir)

  def test_a_fine_tuning_goes_after_what_it_may_start_from(self):
    config = _make_config(['fed_ncm'], check_ridge='')
    config['runs'] = {
      'a_fine_tuning': small_configs.make_config(_VARIANTS['fed3r_ft_lp']),
      'start': small_configs.make_config('fed3r'),
    }
    workdir = self.workdir.parent / 'ordered'
    lines = _train(config, workdir).splitlines()
    self.assertLess(lines.index('start:'), lines.index('a_fine_tuning:'))
    self.assertFalse((workdir / 'a_fine_tuning' / 'start').exists())

  def test_what_cannot_be_used_is_told_before_anything_is_trained(self):
    late = _make_config(['fed3r', 'fed3r_ft_lp'])
    late['runs']['fed3r_ft_lp']['rounds'] = small_configs.VISITING_ROUNDS
    capped = _make_config(['fed3r'])
    capped['runs']['fed3r']['max_examples_per_client'] = 3
    partial = _make_config(['fed3r'])
    partial['runs']['fed3r']['rounds'] = 1
    for config, message in (
      (late, 'the start of the fine-tuning, in which all 8 training clients'),
      (capped, 'with max_examples_per_client 3; all and 0 were expected'),
      (partial, '3 of 8 clients come'),
    ):
      workdir = self.workdir.parent / 'early'
      with self.assertRaisesRegex(errors.InputError, message):
        _train(config, workdir)
      self.assertEmpty(list(workdir.iterdir()))

  def test_rejects_the_workdir_of_a_single_run(self):
    with self.assertRaisesRegex(
      errors.InputError, 'fed_avg is the workdir of a single run; choose ano'
    ):
      _train(self.config, self.workdir / 'fed_avg')

  def test_rejects_a_folder_of_other_runs(self):
    config = _make_config(['fed_ncm'], check_ridge='')
    config['runs']['fed_ncm']['seed'] = 1
    with self.assertRaisesRegex(errors.InputError, r'seed \(0 there, 1 asked'):
      _train(config, self.workdir)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the block early_stopping, and of runs that have it."""

import json
import pathlib
import shutil

from fedfish_tff import errors
from launch.methods import config_checks
from launch.methods import config_fields
from launch.methods import early_stopping
from launch.results import run_reader
from launch.results import sweep_folder
from launch.runs import evaluation_run
from tests.launch import run_files
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np
import pytest

_ACCURACY = 'eval/global/accuracy'


class BlockTest(parameterized.TestCase):
  @parameterized.parameters(
    ('fed_avg', {'metric': 'test/global/loss'}, 'a column of validation cl'),
    (
      'fed_avg',
      {'metric': 'eval/own_fine_tuned/accuracy'},
      'a column of validation cl',
    ),
    ('fed_avg', {'metric': 'eval/global/acuracy'}, 'a metric of task digits'),
    ('fed_avg', {'metric': 'eval/global/'}, 'a metric of task digits'),
    ('fed_avg', {'metric': 'eval/personalized/loss'}, 'epochs must be .*got 0'),
    ('fed_avg', {'patience': 0, 'min_delta': 0.1}, 'min_delta .*patience.*0.1'),
  )
  def test_checks(self, variant, changes, message):
    config = small_configs.make_config(f'{variant},early_stopping=stop')
    config['early_stopping'] |= changes
    config['evaluation']['personalization_epochs'] = 0
    with self.assertRaisesRegex(errors.InputError, message):
      config_checks.read(config)

  def test_direction(self):
    def direction(column, **changes):
      return early_stopping.direction(
        config_fields.Values.of(
          early_stopping.BLOCK.defaults('stop') | changes
        ),
        column,
        judged='eval/global/brier',
        higher_is_better=False,
      )

    self.assertFalse(direction('eval/personalized/brier'))
    self.assertFalse(direction('eval/global/loss'))
    self.assertTrue(direction(_ACCURACY))
    self.assertFalse(direction(_ACCURACY, mode='min'))


def _make_config(**changes):
  return small_configs.make_config(
    'fed_avg,early_stopping=stop',
    **{
      'rounds': 8,
      'evaluate_every': 1,
      'checkpoint_every': 8,
      'evaluation.personalization_epochs': 0,
      'evaluation.barrier': False,
      # Worse from the first round on, but for a random one.
      'client_learning_rate': 1.0,
      'early_stopping.patience': 3,
      **changes,
    },
  )


class RunTest(small_configs.TestCase):
  @pytest.mark.thorough
  def test_a_run(self):
    config, workdir = _make_config(), self.folder / 'runs' / 'w'
    summary = small_configs.train(config, workdir)
    decided = summary['early_stopping']
    best, last = decided['best_round'], summary['rounds']
    self.assertEqual(last, best + 3)
    self.assertLess(last, 8)
    self.assertEqual(summary['model_round'], best)
    self.assertIn(f'{_ACCURACY} was not better', summary['stopped'])
    rows = run_files.read_rows(workdir)
    self.assertLen(rows, last + 1)
    values = [row[_ACCURACY] for row in rows]
    self.assertEqual(best, values.index(max(values)))
    # Of validation and test clients, it is what a run of so many rounds says.
    short = small_configs.train(
      _make_config(rounds=best)
      | {'early_stopping': {**config['early_stopping'], 'patience': 0}},
      self.folder / 'short',
    )
    self.assertEqual(short['early_stopping']['best_round'], best)
    self.assertEqual(summary['test'], short['test'])
    self.assertEqual(summary['final'], short['final'])
    self._check_readers(config, workdir, best, last)
    self._check_evaluation(workdir, summary, best, last)
    self._check_whose_files(config, workdir, best)
    # The same command has nothing left to do.
    again = small_configs.train(config, workdir)
    self.assertEqual(again, summary)
    self.assertEqual(run_files.read_rows(workdir), rows)

  def test_a_run_that_would_stop_after_its_last_round_is_finished(self):
    # No round can be so much better than the initial model.
    config = _make_config(
      **{
        'rounds': 2,
        'early_stopping.patience': 2,
        'early_stopping.min_delta': 2.0,
      }
    )
    summary = small_configs.train(config, self.folder / 'w')
    self.assertEqual(summary['status'], 'finished')
    self.assertNotIn('stopped', summary)

  def _check_readers(self, config, workdir, best, last):
    folder = sweep_folder.SweepFolder(self.folder)
    self.assertIsNotNone(folder.read_summary('w', config))
    run = run_reader.read_run(workdir)
    self.assertEqual(
      (run.about['length'], run.about['model_round']), (last, best)
    )
    # Before its end, it is not finished.
    path = workdir / 'summary.json'
    whole = path.read_bytes()
    summary = json.loads(whole)
    summary['status'] = 'finished'
    self.assertFalse(sweep_folder.is_end(summary, config))

  def _check_evaluation(self, workdir, summary, best, last):
    folder = sweep_folder.SweepFolder(self.folder)
    config = run_reader.read_config(workdir)
    for at, expected in (('last', last), (None, best), ('best', best)):
      evaluation_run.evaluate(workdir, at=at)
      path = workdir / run_reader.CLIENTS_CSV
      round_number, clients = run_reader.read_clients(path)
      self.assertEqual(round_number, expected)
      is_model = expected == best
      self.assertEqual(folder.is_evaluated('w', config), is_model)
      self.assertEqual(len(run_reader.read_run(workdir).clients) > 0, is_model)
    mean = np.average(
      clients['global/accuracy'], weights=clients['num_examples']
    )
    self.assertAlmostEqual(mean, summary['test']['global/accuracy'], places=5)

  def _check_whose_files(self, config, workdir, best):
    """Files of another run or moment are refused, and nothing is removed."""
    summary = (workdir / 'summary.json').read_bytes()
    checkpoint = f'checkpoints/program_state_{best}.npz'

    def refused(message, change, *uses):
      damaged = self.folder / 'damaged'
      shutil.copytree(workdir, damaged)
      change(damaged)
      for use in uses:
        with self.assertRaisesRegex(errors.InputError, message):
          use(damaged)
      self.assertEqual((damaged / 'summary.json').read_bytes(), summary)
      return damaged

    def train(workdir):
      return small_configs.train(config, workdir)

    def exchange(workdir):
      shutil.copy(self.folder / 'short' / checkpoint, workdir / checkpoint)

    def damage(workdir):
      (workdir / checkpoint).write_bytes(b'')

    def roll_back(workdir):
      for path in (workdir / 'checkpoints').iterdir():
        if path.name != pathlib.Path(checkpoint).name:
          path.unlink()
      lines = (workdir / 'metrics.csv').read_text().splitlines(keepends=True)
      (workdir / 'metrics.csv').write_text(''.join(lines[: best + 2]))

    for message, change in (('of another run', exchange), ('damaged', damage)):
      shutil.rmtree(refused(message, change, evaluation_run.evaluate, train))
    damaged = refused(
      'metrics.csv is not what it was after round',
      roll_back,
      evaluation_run.evaluate,
      run_reader.read_run,
    )
    # From there training goes on, and ends as it did.
    train(damaged)
    self.assertEqual(run_files.read_rows(damaged), run_files.read_rows(workdir))
    run_reader.read_run(damaged)

  @pytest.mark.thorough
  def test_the_last_model(self):
    """With the same rounds, and the test figures of the last one."""
    config = _make_config(**{'early_stopping.restore_best': False})
    workdir = self.folder / 'w'
    summary = small_configs.train(config, workdir)
    decided, rows = summary['early_stopping'], run_files.read_rows(workdir)
    self.assertEqual(summary['model_round'], summary['rounds'])
    self.assertLess(decided['best_round'], summary['rounds'])
    self.assertEqual(summary['final'][_ACCURACY], rows[-1][_ACCURACY])

  @pytest.mark.thorough
  def test_a_run_that_is_killed(self):
    config, whole = _make_config(), self.folder / 'whole'
    expected = small_configs.train(config, whole)
    best = expected['early_stopping']['best_round']
    # Before, at and after the best round, and at the end.
    for after in (0, best, best + 1, expected['rounds']):
      workdir = self.folder / f'killed_{after}'
      found = small_configs.train_with_a_stop(
        config, workdir=workdir, after=after
      )
      self.assertEqual(run_files.read_rows(workdir), run_files.read_rows(whole))
      for summary in (found, expected):
        summary['totals'].pop('round_seconds', None)
      self.assertEqual(found, expected)

  @pytest.mark.thorough
  def test_clients_with_models_of_their_own(self):
    """They are those of the best round, too."""
    config = small_configs.make_client_states_config(rounds=5, evaluate_every=1)
    config['client_learning_rate'] = 2.0
    config['early_stopping'] = {
      **early_stopping.BLOCK.defaults('keep_best'),
      'metric': 'eval/global/loss',
    }
    summary = small_configs.train(config, self.folder / 'w')
    best = summary['early_stopping']['best_round']
    self.assertBetween(best, 1, 4)
    short = small_configs.train(
      config | {'rounds': best}, self.folder / 'short'
    )
    self.assertIn('clients/accuracy', summary['test'])
    self.assertEqual(summary['test'], short['test'])

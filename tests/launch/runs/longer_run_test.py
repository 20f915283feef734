# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A finished run that goes on equals one of all rounds from the start."""

import contextlib
import sqlite3
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import simulation
from tests.launch import run_files
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np
import pytest

_HALF = 'evaluation.half_way_checkpoint'
_LAMBDAS = (1000.0, 0.01, 1.0)
# One client per round, so that all 8 rounds have one.
_PATH = {'cohort_size': 1, 'algorithm.regularization_path': _LAMBDAS}


def _read(workdir):
  """Returns the content of the files and the order of columns."""
  contents = run_files.read_all(workdir)
  metrics = (workdir / 'metrics.csv').read_text(encoding='utf-8')
  contents['columns'] = metrics.splitlines()[0]
  states = 'client_states.sqlite'
  if states in contents:
    # States of earlier checkpoints may wait for their removal.
    with contextlib.closing(sqlite3.connect(workdir / states)) as database:
      contents[states] = database.execute(
        'SELECT client, round, value FROM visits JOIN states USING (id) '
        'WHERE until IS NULL ORDER BY client'
      ).fetchall()
  return contents


def _read_training(workdir, evaluated):
  """Returns the arrays and rows of a run, but for the evaluation of a round."""
  path = workdir / 'checkpoints'
  with np.load(max(path.iterdir(), key=lambda p: (len(p.name), p))) as arrays:
    state = {
      name: array.tobytes()
      for name, array in arrays.items()
      # The total of seconds, and the digest of all rows.
      if array.dtype != np.float64 and name != 'manifest'
    }
  rows = run_files.read_rows(workdir)
  return state, [
    {
      name: value
      for name, value in row.items()
      if row['round'] != evaluated or not name.startswith(('eval/', 'csb/'))
    }
    for row in rows
  ]


class LongerRunTest(small_configs.TestCase):
  @parameterized.parameters(
    (7, 9, {'evaluate_every': 5, 'checkpoint_every': 10}),
    (1, 3, {'evaluate_every': 10, 'evaluation.barrier': True}),
  )
  def test_goes_on_from_its_last_round(self, before, rounds, changes):
    config = small_configs.make_config('fed_avg', rounds=rounds, **changes)
    whole = self.folder / 'whole'
    small_configs.train(config, whole)
    small_configs.train({**config, 'rounds': before}, self.workdir)
    seen = []
    with mock.patch.object(
      simulation.ProgressReporter,
      'observe',
      lambda reporter, number, row: seen.append(number),
    ):
      small_configs.train(config, self.workdir)
    self.assertEqual(seen, list(range(before + 1, rounds + 1)))
    found, expected = (
      _read_training(folder, before) for folder in (self.workdir, whole)
    )
    self.assertEqual(found, expected)
    # The earlier last round keeps its evaluation.
    (row,) = (
      row for row in run_files.read_rows(self.workdir) if row['round'] == before
    )
    self.assertIn('eval/global/accuracy', row)

  def _assert_goes_on(self, config, before, *, stop_after=None):
    """Trains to a round, then on, and compares with a run from the start."""
    whole = self.folder / 'whole'
    small_configs.train(config, whole)
    small_configs.train({**config, 'rounds': before}, self.workdir)
    if stop_after is None:
      small_configs.train(config, self.workdir)
    else:
      small_configs.train_with_a_stop(
        config, workdir=self.workdir, after=stop_after
      )
    found, expected = map(_read, (self.workdir, whole))
    self.assertEqual(found.keys(), expected.keys())
    for name, content in expected.items():
      self.assertTrue(found[name] == content, name)

  @parameterized.named_parameters(
    # Which is evaluated in both.
    ('from_half_of_all', 'fed_avg', 4, 8, {_HALF: True}),
    # The half-way round 3 has no checkpoint any more.
    ('from_before_half_of_all', 'fed_avg', 4, 7, {_HALF: True}),
    ('from_the_beginning', 'fed_avg', 2, 3, {_HALF: True}),
  )
  def test_rounds(self, variant, before, rounds, changes):
    config = small_configs.make_config(variant, rounds=rounds, **changes)
    self._assert_goes_on(config, before)

  @parameterized.parameters(
    ('scaffold', 4, 8, {}),
    ('fed_ma', 2, 4, {}),
    ('fed_avg,exchange=partial,unsent=client_keeps', 4, 9, {}),
    (
      'fed_avg,weight_average=ema,client_schedule=step',
      4,
      8,
      {'client_schedule.step_rounds': 3},
    ),
    (
      'fed_buff,participation=asynchronous',
      4,
      8,
      {'participation.max_staleness': 2},
    ),
    (
      'fed_avg,participation=flanp',
      4,
      8,
      {'cohort_size': 8, 'participation.n0': 2},
    ),
    # Which goes on where it has stopped, and stops again.
    ('fed_avg,early_stopping=stop', 4, 12, {'early_stopping.patience': 1}),
    # The best round of the shorter run is its last, which it alone evaluates.
    ('fed_avg,early_stopping=keep_best', 5, 8, {}),
    # The model of the last round has another lambda.
    ('fed3r', 4, 8, _PATH),
    ('fed_avg,fine_tuning=ft_lp,start=fed3r', 4, 9, {}),
  )
  @pytest.mark.thorough
  def test_methods_and_blocks(self, variant, before, rounds, changes):
    config = small_configs.make_config(variant, rounds=rounds, **changes)
    self._assert_goes_on(config, before)

  @pytest.mark.thorough
  def test_a_kill_in_the_rounds_that_follow(self):
    config = small_configs.make_client_states_config(rounds=8, evaluate_every=2)
    self._assert_goes_on(config, 4, stop_after=5)

  def test_what_cannot_go_on(self):
    config = small_configs.make_config(
      'fed_avg,client_schedule=cosine', rounds=4
    )
    small_configs.train(config, self.workdir)
    before = run_files.read_all(self.workdir)
    for changes, message in (
      ({'rounds': 6}, 'client_schedule.name is "cosine", which depends on'),
      ({'rounds': 2}, 'client_schedule.name is "cosine", which depends on'),
      (
        {'rounds': 6, 'seed': 1},
        'rounds .4 there, 6 asked for., seed .0 there',
      ),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        small_configs.train({**config, **changes}, self.workdir)
    self.assertEqual(run_files.read_all(self.workdir), before)

  def test_fewer_rounds_are_refused(self):
    config = small_configs.make_config('fed_avg', rounds=4)
    small_configs.train(config, self.workdir)
    with self.assertRaisesRegex(
      errors.InputError,
      'holds a run of 4 rounds; rounds must be at least 4, got 2. Choose',
    ):
      small_configs.train({**config, 'rounds': 2}, self.workdir)
    self.assertNotEmpty(simulation.Workdir(self.workdir).read_summary())

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs that diverge say so, in their summary, last line and exit code."""

import contextlib
import io
import json
from unittest import mock

from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from launch.methods import config_checks
from launch.plots import catalogue
from launch.runs import divergence
from launch.runs import evaluation_run
from launch.runs import training_run
from tests.launch import run_files
from tests.launch import small_configs
from tests.launch import trained_runs

from absl.testing import parameterized
import pytest

_CLIENT, _SERVER = 'client_learning_rate', 'server_learning_rate'
_CLIENTS, _MODEL = simulation.Cause.CLIENTS, simulation.Cause.MODEL


def _make_config(variant='fed_avg,server=sgd', **changes):
  return small_configs.make_config(
    variant, **{'rounds': 8, 'client_learning_rate': 1e30, **changes}
  )


class AdviceTest(parameterized.TestCase):
  @parameterized.parameters(
    # Clients have started from the initial weights.
    ('fed_avg', {}, _CLIENTS, True, 'client_learning_rate 0.05 is'),
    (
      'fed_avg',
      {_SERVER: 1e30},
      _CLIENTS,
      True,
      'client_learning_rate 0.05 is',
    ),
    # The server has moved no further than they did.
    ('fed_avg', {}, _CLIENTS, False, 'client_learning_rate 0.05 is'),
    ('fed_rep', {}, _MODEL, False, 'client_learning_rate 0.05 is'),
    (
      'fed_avg',
      {_SERVER: 2.0},
      _CLIENTS,
      False,
      'client_learning_rate 0.05 or server_learning_rate 2 is',
    ),
    (
      'fed_avg,server=adam',
      {_SERVER: 0.1},
      _CLIENTS,
      False,
      'client_learning_rate 0.05 or server_learning_rate 0.1 is',
    ),
    # Noise may be what is too large, but not before the first round.
    (
      'fed_avg,privacy=gaussian',
      {'privacy.noise_multiplier': 2000.0},
      _CLIENTS,
      False,
      'client_learning_rate 0.05, server_learning_rate 1 or '
      'privacy.noise_multiplier 2000 is',
    ),
    (
      'fed_avg,privacy=gaussian',
      {'privacy.noise_multiplier': 2000.0},
      _CLIENTS,
      True,
      'client_learning_rate 0.05 is',
    ),
    (
      'fed_avg,privacy=gaussian',
      {'privacy.noise_multiplier': 0.0},
      _CLIENTS,
      False,
      'client_learning_rate 0.05 is',
    ),
    # A correction of SCAFFOLD's may do it, too.
    *(
      (
        'scaffold',
        {},
        _CLIENTS,
        at_once,
        'client_learning_rate 0.05 or server_learning_rate 1 may be',
      )
      for at_once in (False, True)
    ),
    # The clients' rate only serves evaluations.
    ('fed_sgd', {_SERVER: 3.0}, _MODEL, False, 'server_learning_rate 3 may be'),
    # The server has no rate.
    ('fed_ma', {}, _CLIENTS, False, 'client_learning_rate 0.05 may be'),
  )
  def test_names_what_is_certain(self, variant, changes, cause, at_once, told):
    config = small_configs.make_config(variant, **{_CLIENT: 0.05, **changes})
    self.assertEqual(
      divergence.advise(config_checks.read(config), cause, at_once),
      f'{told} too large',
    )

  def test_first_gradients_at_the_server_have_no_rate(self):
    config = config_checks.read(small_configs.make_config('fed_sgd'))
    self.assertStartsWith(
      divergence.advise(config, _CLIENTS, True), 'the inputs may be too large'
    )


class DivergedRunTest(small_configs.TestCase):
  def _train(self, config, workdir=None):
    """Trains; returns the summary and the last line that was printed."""
    contexts.set_default_context()
    options = training_run.RunOptions(workdir=workdir or self.workdir)
    with (
      mock.patch.object(catalogue, 'plot_workdir', autospec=True),
      contextlib.redirect_stdout(io.StringIO()) as stream,
    ):
      summary = training_run.train(config_checks.read(config), options)
    return summary, stream.getvalue().splitlines()[-1]

  def test_the_end_says_so(self):
    config = _make_config()
    summary, line = self._train(config)
    self.assertEqual(summary['status'], 'diverged')
    self.assertEqual(summary['diverged']['round'], 1)
    self.assertEqual(summary['rounds'], config['stop_after_diverged_rounds'])
    self.assertStartsWith(
      line, f'Diverged in round 1: {summary["diverged"]["reason"]}.'
    )
    self.assertIn(f'{_CLIENT} 1e+30 is too large', line)
    rows = run_files.read_columns(self.workdir)
    # The same command trains no more, and tells the same.
    again, line_again = self._train(config)
    self.assertEqual(again['diverged'], summary['diverged'])
    self.assertEqual(line_again, line)
    self.assertEqual(run_files.read_columns(self.workdir), rows)

  def test_a_run_that_may_go_on_says_so_at_its_end(self):
    config = _make_config(stop_after_diverged_rounds=0)
    summary, line = self._train(config)
    self.assertEqual(summary['rounds'], config['rounds'])
    self.assertEqual(summary['diverged']['round'], 1)
    self.assertEqual(
      summary['diverged_rounds'], list(range(1, config['rounds'] + 1))
    )
    self.assertStartsWith(line, 'Diverged in round 1: ')

  @pytest.mark.thorough
  def test_the_binaries(self):
    outcome = trained_runs.run_train(
      f'--workdir={self.workdir}', '--config.client_learning_rate=1e30'
    )
    self.assertEqual(outcome.code, 1)
    last = outcome.stdout.splitlines()[-1]
    self.assertStartsWith(last, 'Diverged in round 1: ')
    with contextlib.redirect_stdout(io.StringIO()) as stream:
      evaluation_run.evaluate(self.workdir)
    told = last.partition('. See')[0]
    self.assertIn(f'The run is no result. {told}.', stream.getvalue())

  # The contract of algorithms says that every one counts such clients.
  @parameterized.parameters(
    # At the server, with two sums, states of clients, and loops of their own.
    *('fed_sgd', 'fed_fish', 'fed_rep', 'scaffold', 'fed_ma'),
    'fed_buff,participation=asynchronous',
    'fed_avg,exchange=partial,unsent=client_keeps',
    'fed_avg,aggregation=median',
    'fed_avg,weight_average=ema',
  )
  @pytest.mark.thorough
  def test_every_kind_of_method_is_found_out(self, variant):
    config = _make_config(variant, rounds=12)
    if variant == 'fed_sgd':
      config |= {_CLIENT: 0.1, _SERVER: 1e30}
    summary = small_configs.train(config, self.workdir)
    self.assertEqual(summary['status'], 'diverged')
    self.assertLess(summary['rounds'], config['rounds'])
    suspect = _SERVER if variant == 'fed_sgd' else _CLIENT
    self.assertIn(f'; {suspect} 1e+30', summary['diverged']['reason'])

  @pytest.mark.thorough
  def test_a_kill_among_diverged_rounds(self):
    config = _make_config(checkpoint_every=1)
    whole = self._train(config, self.folder / 'whole')[0]
    small_configs.train_with_a_stop(config, workdir=self.workdir, after=3)
    found = json.loads((self.workdir / 'summary.json').read_text())
    self.assertEqual(found['diverged'], whole['diverged'])
    self.assertEqual(
      repr(run_files.read_columns(self.workdir)),
      repr(run_files.read_columns(self.folder / 'whole')),
    )

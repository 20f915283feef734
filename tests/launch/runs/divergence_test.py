# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs that diverge say so, in their summary, last line and exit code."""

import contextlib
import io
import json
from unittest import mock

from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from launch.configs import digits
from launch.methods import config_checks
from launch.methods import registry
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
    ('fed_avg', 1.0, _CLIENTS, True, [_CLIENT]),
    ('fed_avg,server=adam', 1e30, _CLIENTS, True, [_CLIENT]),
    # The server has moved no further than they did.
    ('fed_avg', 1.0, _CLIENTS, False, [_CLIENT]),
    ('fed_avg', 1.0, _MODEL, False, [_CLIENT]),
    ('fed_avg', 2.0, _CLIENTS, False, [_CLIENT, _SERVER]),
    ('fed_avg', 2.0, _MODEL, True, [_SERVER]),
    ('fed_avg,server=adam', 0.1, _CLIENTS, False, [_CLIENT, _SERVER]),
    ('fed_avg,server=adam', 1e30, _CLIENTS, False, [_SERVER]),
    # The clients' rate only serves evaluations.
    ('fed_sgd', 1.0, _CLIENTS, True, [_SERVER]),
    # The server has no rate.
    ('fed_ma', None, _CLIENTS, False, [_CLIENT]),
  )
  def test_names_what_is_certain(self, variant, rate, cause, at_once, expected):
    if 'server' not in variant and rate is not None:
      variant += ',server=sgd'
    values = digits.get_config(variant).to_dict()
    if rate is not None:
      values[_SERVER] = rate
    config = config_checks.read(values)
    told = ' or '.join(f'{n} {getattr(config, n):g}' for n in expected)
    self.assertEqual(
      divergence.advise(config, cause, at_once), f'{told} is too large'
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
    self.assertStartsWith(line, 'Diverged in round 1: ')

  def test_a_usual_run_has_finished(self):
    summary, line = self._train(
      _make_config(client_learning_rate=0.1, rounds=2)
    )
    self.assertEqual(summary['status'], 'finished')
    self.assertNotIn('diverged', summary)
    self.assertStartsWith(line, 'Done: 2 rounds of FedAvg')

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

  @parameterized.parameters(
    *(
      name
      for name, method in registry.own_methods().items()
      if method.learning_rates
    ),
    'fed_buff,participation=asynchronous',
    'fed_avg,exchange=partial,unsent=client_keeps',
    'fed_avg,aggregation=median',
    'fed_avg,weight_average=ema',
  )
  @pytest.mark.thorough
  def test_every_method_is_found_out(self, variant):
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

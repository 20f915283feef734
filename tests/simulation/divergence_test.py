# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs that diverge: which rounds count, and where the run ends."""

import contextlib
import functools
import io
import math
from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import simulation
from tests import row_callback
from tests import training_runs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_DIVERGED = simulation.DIVERGED_COLUMN
_CLIENTS = int(simulation.Cause.CLIENTS)
_PATIENCE = 3


@functools.cache
def _build_process(rate, server=1.0):
  return algorithms.build_fed_avg(
    training_runs.create_model(),
    tff.learning.optimizers.build_sgdm(rate),
    tff.learning.optimizers.build_sgdm(server),
  )


def _observed(streaks, patience=_PATIENCE, cohorts=lambda number: 'ab', **args):
  """Returns the hook after the rows of rounds, from 1, diverged or not."""
  hook = simulation.Divergence(patience, participation=cohorts, **args)
  hook.observe(0, {})
  for number, diverged in enumerate(streaks, start=1):
    hook.observe(number, {_DIVERGED: _CLIENTS} if diverged else {})
  return hook


class RowsTest(parameterized.TestCase):
  @parameterized.parameters(
    ('00000000', None, False),
    ('00110000', None, False),
    ('001101111', 6, True),
    ('0011', None, False),
    # All rounds of a run that is shorter than the streak that ends it.
    ('11', 1, False),
    ('1', 1, False),
    # A cohort may be one client with unusual data.
    ('01', None, False),
    ('001', None, False),
    # The last of many rounds may be that of one client that never learns.
    ('000000001', None, False),
  )
  def test_streaks(self, streaks, first, ends):
    hook = _observed(map(int, streaks))
    self.assertEqual(hook.first_diverged_round, first)
    self.assertEqual(hook.reason is not None, ends)

  def test_a_round_without_clients_ends_no_streak(self):
    for number, clients in ((3, ''), (4, 'ab')):
      hook = _observed(
        [1, 1, 0, 0, 1][: number + 1],
        cohorts=lambda r, clients=clients: clients if r in (3, 4) else 'ab',
      )
      self.assertEqual(hook.first_diverged_round, None if clients else 1)

  @parameterized.parameters(0, 5, 30)
  def test_a_long_limit_hides_nothing(self, patience):
    for streak, first in ((4, None), (5, 21), (6, 21)):
      hook = _observed([0] * 20 + [1] * streak, patience=patience)
      self.assertEqual(hook.first_diverged_round, first)

  @parameterized.parameters(
    ([900, 800, 700], False),
    ([900, 800, 900], True),
    ([900, 800, math.inf], True),
    ([math.nan] * 3, True),
    ([math.inf] * 3, True),
    ([900, 800, 700, 950], True),
    # The first step was the largest, and nothing has fallen since.
    ([9e9, 400, 420, 410, 430, 405], False),
    ([9e9, 400, 420, 410, 430, 405, 450], True),
    ([9e9, 400, 420, 410, 430, 390, 450], False),
  )
  def test_losses_that_fall_end_no_run(self, losses, ends):
    hook = simulation.Divergence(_PATIENCE, participation=lambda number: 'ab')
    hook.observe(0, {})
    hook.observe(1, {'train/loss': 1.0})
    for number, loss in enumerate(losses, start=2):
      hook.observe(
        number, {_DIVERGED: int(simulation.Cause.LOSS), 'train/loss': loss}
      )
    self.assertEqual(hook.reason is not None, ends)
    self.assertEqual(hook.first_diverged_round, 2 if ends else None)

  def test_an_initial_model_that_is_not_finite_is_no_matter_of_rates(self):
    hook = simulation.Divergence(
      1, participation=lambda number: 'ab', advise=lambda *_: 'a rate'
    )
    hook.observe(0, {'eval/global/loss': math.nan})
    hook.observe(1, {_DIVERGED: _CLIENTS})
    self.assertEndsWith(
      hook.reason, 'update; the loss of the initial model was not finite either'
    )

  def test_without_a_limit_no_run_ends(self):
    hook = _observed([1] * 100, patience=0)
    self.assertFalse(hook.may_stop)
    self.assertIsNone(hook.reason)
    self.assertEqual(hook.first_diverged_round, 1)

  def test_advice_knows_whether_finite_updates_came_before(self):
    for before in ([], [0], [0, 1, 0]):
      hook = _observed(
        [*before, 1, 1, 1], advise=lambda cause, at_once: f'{cause} {at_once}'
      )
      self.assertEqual(
        hook.reason,
        f'no client of 2 (a, b) had a finite update; {_CLIENTS} {not before}',
      )


class LoopTest(training_runs.TestCase):
  SIZES = {'a': 3, 'b': 5, 'c': 8, 'd': 4}
  SPEC = datasets.BatchSpec(batch_size=2)

  def _train(self, folder=None, *, rate=1e30, server=1.0, further=(), **kwargs):
    hook = simulation.Divergence(_PATIENCE, participation=self.cohorts)
    with contextlib.redirect_stderr(io.StringIO()) as stream:
      result = self.run_training(
        _build_process(rate, server),
        folder,
        **{
          'rounds': 8,
          'evaluation_fn': lambda state, _: {'eval/global/loss': 0.7},
          **kwargs,
        },
        hooks=[hook, *further],
      )
    return hook, result, stream.getvalue().splitlines()

  def test_a_rate_that_is_too_large_ends_the_run(self):
    hook, result, lines = self._train(checkpoint_every=100)
    self.assertEqual(result.round_number, _PATIENCE)
    self.assertEqual(hook.first_diverged_round, 1)
    self.assertStartsWith(hook.reason, 'no client of 2 (')
    # A line a round, and a checkpoint after the last.
    self.assertLen(lines, _PATIENCE)
    for number, line in enumerate(lines, start=1):
      self.assertStartsWith(line, f'Round {number}: the update of ')
    again, _, lines = self._train()
    self.assertEqual((again.reason, lines), (hook.reason, []))

  def test_a_run_that_was_killed_ends_as_any(self):
    whole, expected, _ = self._train(self.folder / 'whole')
    for killed_at in range(1, _PATIENCE + 1):
      folder = self.folder / f'killed{killed_at}'
      with self.assertRaises(training_runs.Stop):
        self._train(
          folder,
          further=[training_runs.stop_at(killed_at)],
          checkpoint_every=1,
        )
      hook, result, _ = self._train(folder, checkpoint_every=1)
      self.assertEqual(hook.reason, whole.reason)
      self.assert_same_bits(result.state, expected.state)
      # Averages over no clients are NaN, which equals nothing.
      self.assertEqual(
        repr(self.rows(folder)), repr(self.rows(self.folder / 'whole'))
      )

  @parameterized.parameters(
    # The factor is 50 of the initial loss, the first round's or 1.
    (0.7, 0.5, 49.0, None),
    (0.7, 0.5, 51.0, simulation.Cause.LOSS),
    (2.0, 0.5, 99.0, None),
    (2.0, 0.5, 101.0, simulation.Cause.LOSS),
    (2.0, 3.0, 149.0, None),
    (2.0, 3.0, 151.0, simulation.Cause.LOSS),
    (2.0, 0.5, math.inf, simulation.Cause.LOSS),
    (2.0, 0.5, math.nan, simulation.Cause.LOSS),
    (math.nan, 2.0, 99.0, None),
    (math.nan, 2.0, 101.0, simulation.Cause.LOSS),
    # A first round that has diverged itself is no measure.
    (2.0, 1e30, 101.0, simulation.Cause.LOSS),
    (2.0, None, 99.0, None),
    (2.0, None, 101.0, simulation.Cause.LOSS),
    (2.0, None, math.inf, simulation.Cause.LOSS),
    (math.nan, None, 1e30, None),
    (math.nan, None, math.inf, simulation.Cause.LOSS),
  )
  def test_losses(self, initial, first, loss, cause):
    _, result, _ = self._train(rate=0.1, rounds=1)
    hook = simulation.Divergence(1, participation=self.cohorts)
    hook.observe(0, {'eval/global/loss': initial})
    if first is not None:
      hook.observe(1, {'train/loss': first})
    round_ = training_runs.make_round(2, 'ab')
    round_.process, round_.state = _build_process(0.1), result.state
    round_.row = {'train/loss': loss}
    hook.after_round(round_)
    self.assertEqual(round_.row.get(_DIVERGED), cause)

  def test_weights_in_bfloat16(self):
    for value, cause in ((1.0, None), (math.inf, simulation.Cause.MODEL)):
      hook = simulation.Divergence(1, participation=self.cohorts)
      round_ = training_runs.make_round(1, 'ab')
      round_.process = mock.create_autospec(
        tff.learning.templates.LearningProcess, instance=True
      )
      round_.process.get_model_weights.return_value = (
        tff.learning.models.ModelWeights(
          [np.array([value], tf.bfloat16.as_numpy_dtype)], []
        )
      )
      round_.row = {'train/loss': 0.5}
      hook.after_round(round_)
      self.assertEqual(round_.row.get(_DIVERGED), cause)

  def test_a_server_step_that_overflows(self):
    seen = []
    hook, _, lines = self._train(
      rate=100.0,
      server=1e38,
      further=[row_callback.RowCallback(lambda _, row: seen.append(dict(row)))],
      evaluation_fn=None,
      rounds=1,
    )
    self.assertEqual(seen[1]['train/excluded_clients'], 0)
    self.assertEqual(seen[1][_DIVERGED], simulation.Cause.MODEL)
    self.assertStartsWith(hook.describe(), 'the model was not finite after the')
    self.assertEqual(
      lines, ["Round 1: the model is not finite after the server's step."]
    )

  def test_usual_runs_have_no_such_column(self):
    hook, result, lines = self._train(rate=0.1)
    self.assertEqual(result.round_number, 8)
    self.assertIsNone(hook.first_diverged_round)
    self.assertEqual(lines, [])
    self.assertNotIn(_DIVERGED, self.rows()[-1])


if __name__ == '__main__':
  absltest.main()

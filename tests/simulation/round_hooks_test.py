# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of hooks; early stopping is compared with Keras' on any values."""

import math

from fedfish_tff import errors
from fedfish_tff.simulation import early_stopping
from fedfish_tff.simulation import hooks
from fedfish_tff.simulation import round_hooks
from tests import training_runs

from absl.testing import absltest
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf

_COHORTS = {4: ('a',), 5: ('a', 'bbb'), 6: ('cc',)}


def _wall_clock(round_number, client_ids):
  return round_number / 8 + max(map(len, client_ids))


def _run(last_round):
  return hooks.Run(
    first_round=3,
    last_round=last_round,
    participation=_COHORTS.__getitem__,
    start_totals={'simulated_seconds': 20},
    read_rows=list,
    load=lambda unused_round: None,
  )


class _Process:
  def get_model_weights(self, state):
    return f'weights of {state}'


class SchedulesTest(absltest.TestCase):
  def test_parameters_of_each_round(self):
    hook = round_hooks.Schedules(lambda r: {'rate': 1 / r})
    self.assertEqual(hook.before_round(1), {'rate': 1})
    self.assertEqual(hook.before_round(4), {'rate': 0.25})


class SimulatedTimeTest(absltest.TestCase):
  def _columns(self, hook, rounds):
    columns = []
    for number in rounds:
      round_ = training_runs.make_round(number, _COHORTS[number])
      hook.after_round(round_)
      hook.complete_row(round_)
      columns.append(round_.row)
    return columns

  def test_adds_up_rounds_from_a_start_and_from_a_checkpoint(self):
    seconds = np.cumsum([20 + 1 + 4 / 8, 3 + 5 / 8, 2 + 6 / 8])
    expected = [{'simulated/seconds': s} for s in seconds]
    for last_round in (None, 4, 5):
      with self.subTest(last_round=last_round):
        hook = round_hooks.SimulatedTime(_wall_clock)
        hook.begin(_run(last_round))
        done = last_round or 3
        self.assertEqual(
          self._columns(hook, range(done + 1, 7)), expected[done - 3 :]
        )
        self.assertEqual(hook.totals(), {'simulated_seconds': seconds[-1]})

  def test_the_row_of_the_start(self):
    hook = round_hooks.SimulatedTime(_wall_clock)
    hook.begin(_run(None))
    round_ = training_runs.make_round(3, ())
    hook.complete_row(round_)
    self.assertEqual(round_.row, {'simulated/seconds': 20})


class CriterionTest(absltest.TestCase):
  def test_measures_at_the_weights_after_the_round(self):
    hook = round_hooks.Criterion(lambda *arguments: {'measured': arguments})
    round_ = hooks.Round(1, {'train/loss': 1.0}, _Process(), 'b', 'a', ('c',))
    hook.after_round(round_)
    self.assertEqual(
      round_.row, {'train/loss': 1.0, 'measured': ('weights of b', ('c',))}
    )
    self.assertEqual(hook.passes, 1)


class BarrierTest(absltest.TestCase):
  def test_measures_between_the_weights_before_and_after(self):
    hook = round_hooks.Barrier(lambda *arguments: {'measured': arguments})
    round_ = hooks.Round(1, {}, _Process(), 'after', 'before', ('client',))
    hook.after_evaluation(round_)
    self.assertEqual(
      round_.row,
      {'measured': ('weights of before', 'weights of after', ('client',))},
    )


_COLUMN = 'eval/global/loss'


class _Model:
  """The part of a model that Keras' callback needs."""

  stop_training = False


def _keras_stop(values, **kwargs):
  """The best and the last epoch, from 1, in which Keras stops; None without."""
  callback = tf.keras.callbacks.EarlyStopping(_COLUMN, **kwargs)
  callback.set_model(_Model())
  callback.on_train_begin()
  for epoch, value in enumerate(values, start=1):
    callback.on_epoch_end(epoch, {_COLUMN: value})
    if callback.model.stop_training:
      return epoch, callback
  return None, callback


class EarlyStoppingTest(absltest.TestCase):
  @hypothesis.given(
    values=st.lists(
      # Few values, so that some are equal or differ by just min_delta.
      st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, math.nan]),
      min_size=1,
      max_size=12,
    ),
    mode=st.sampled_from(['min', 'max']),
    patience=st.integers(1, 4),
    min_delta=st.sampled_from([0.0, 0.25, 0.3]),
  )
  def test_is_that_of_keras(self, values, mode, patience, min_delta):
    expected, _ = _keras_stop(
      values, mode=mode, patience=patience, min_delta=min_delta
    )
    stopping = early_stopping.EarlyStopping(
      _COLUMN,
      higher_is_better=mode == 'max',
      patience=patience,
      min_delta=min_delta,
    )
    stopped = None
    for round_number, value in enumerate(values, start=1):
      stopping.observe(round_number, {_COLUMN: value})
      if stopping.reason:
        stopped = round_number
        break
    self.assertEqual(stopped, expected)
    # The best however little better: what Keras keeps without a min_delta.
    seen = values[:stopped]
    if not all(map(math.isnan, seen)):
      _, keeps = _keras_stop(seen, mode=mode, patience=99)
      self.assertEqual(stopping.best_round, keeps.best_epoch)
    else:
      self.assertIsNone(stopping.best_round)

  def test_reasons(self):
    stopping = early_stopping.EarlyStopping(
      _COLUMN, higher_is_better=False, patience=2, min_delta=0.1
    )
    for round_number, value in ((0, 0.5), (2, 0.45), (4, 0.42)):
      self.assertIsNone(stopping.reason)
      stopping.observe(round_number, {_COLUMN: value, 'train/loss': 0.0})
      # Not that of an evaluation.
      stopping.observe(round_number + 1, {'train/loss': 0.0})
    self.assertEqual(stopping.best_round, 4)
    self.assertEqual(
      stopping.reason,
      'eval/global/loss was not better by more than 0.1 than 0.5, that of round '
      '0, in 2 evaluations one after the other',
    )
    stopping = early_stopping.EarlyStopping(
      _COLUMN, higher_is_better=False, patience=1
    )
    stopping.observe(0, {_COLUMN: math.nan})
    self.assertEqual(
      stopping.reason, 'eval/global/loss was not finite in 1 evaluation'
    )

  def test_any_gain_counts_by_default(self):
    stopping = early_stopping.EarlyStopping(
      _COLUMN, higher_is_better=True, patience=1
    )
    for round_number in range(9):
      stopping.observe(round_number, {_COLUMN: 0.01 * round_number})
    self.assertIsNone(stopping.reason)

  def test_patience_0_never_stops(self):
    stopping = early_stopping.EarlyStopping(
      _COLUMN, higher_is_better=True, patience=0
    )
    for round_number in range(100):
      stopping.observe(round_number, {_COLUMN: -round_number})
    self.assertIsNone(stopping.reason)
    self.assertEqual(stopping.best_round, 0)

  def test_bad_arguments(self):
    for changes in ({'patience': -1}, {'min_delta': float('nan')}):
      ((name, value),) = changes.items()
      with self.assertRaisesRegex(errors.InputError, f'{name} .*got {value}'):
        early_stopping.EarlyStopping(
          _COLUMN, **({'higher_is_better': True, 'patience': 1} | changes)
        )

  def test_a_column_that_does_not_exist(self):
    stopping = early_stopping.EarlyStopping(
      'eval/global/los', higher_is_better=True, patience=0
    )
    with self.assertRaisesRegex(errors.InputError, "'eval/global/los'"):
      stopping.observe(0, {_COLUMN: 1.0})

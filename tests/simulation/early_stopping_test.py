# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Early stopping against Keras', on any values."""

import math

from fedfish_tff import errors
from fedfish_tff.simulation import early_stopping

from absl.testing import absltest
import hypothesis
from hypothesis import strategies as st
import tensorflow as tf

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

  def test_a_column_that_does_not_exist(self):
    stopping = early_stopping.EarlyStopping(
      'eval/global/los', higher_is_better=True, patience=0
    )
    with self.assertRaisesRegex(errors.InputError, "'eval/global/los'"):
      stopping.observe(0, {_COLUMN: 1.0})

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for scan_replay: against tf.data, on the same graph."""

from fedfish_tff.execution.replay import replayer
from tests.execution import dataset_replays

from absl.testing import parameterized
import tensorflow as tf


class ScansTest(parameterized.TestCase):
  @parameterized.parameters(
    lambda ds: ds.take_while(lambda i: i < 2).scan(
      tf.constant(0, tf.int64), lambda s, i: (s, i)
    ),
    lambda ds: ds.scan(tf.constant(0, tf.int64), lambda s, i: (s, i)).skip(1),
  )
  def test_what_is_not_one_after_another(self, change):
    with self.assertRaises(replayer.NotReplayableError):
      dataset_replays.assert_elements(change, range(3))

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The shared part of client work, around an update made for the test."""

import collections

from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import models
from tests import numpy_reference as ref

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_MODEL = ref.create_functional_model()
_START = ref.initial_weights()


def _count(bound, sent, own, dataset):
  """An update that tells what it was given: (batches, state, first weight)."""
  initial = bound.unfinalized_metrics(bound.initial_metrics())
  batches = dataset.reduce(0.0, lambda n, _: n + 1.0)
  return client_work.ClientUpdate(
    update=collections.OrderedDict(
      batches=batches,
      state=tf.cast(sent.state, tf.float32),
      # Three batches divide by zero.
      quotient=sent.weights.trainable[0][0, 0] / (batches - 3.0),
    ),
    weight=tf.constant(2.0),
    metrics=initial,
    own=tf.nest.map_structure(lambda t: t + 1, own),
  )


def _work(own_type=None):
  shapes = models.FlatWeights(tuple((np.float32, w.shape) for w in _START), ())
  work = client_work.build_client_work(
    _MODEL, _count, tff.to_type(client_work.Server(shapes, np.int32)), own_type
  )
  sent = client_work.Server(models.FlatWeights(_START, ()), 5)
  return lambda *others: work(sent, *others)


def _data(num_examples):
  return ref.to_dataset(ref.make_batches(num_examples, 0))


class BuildClientWorkTest(absltest.TestCase):
  def test_updates_and_exclusion(self):
    work, first = _work(), _START[0][0, 0]
    for num_examples, expected in (
      (4, [1, 5, first / -2]),
      (8, [2, 5, -first]),
      (12, [0, 0, 0]),
    ):
      output = work(_data(num_examples))
      excluded = num_examples == 12
      np.testing.assert_allclose(
        list(output.result.update.values()), expected, rtol=1e-6
      )
      self.assertEqual(output.result.update_weight, 0 if excluded else 2)
      self.assertEqual(output.excluded, excluded)

  def test_a_client_that_is_left_out_keeps_its_state(self):
    work = _work(tff.TensorType(np.int32))
    for num_examples, new_state, excluded in ((8, 7, 0), (12, 6, 1)):
      output = work(6, _data(num_examples))
      self.assertEqual(output.own, new_state)
      self.assertEqual(output.excluded, excluded)

  def test_weights(self):
    num_examples = tf.constant(7, tf.int64)
    weighting = tff.learning.ClientWeighting
    self.assertEqual(
      client_work.client_weight(num_examples, weighting.NUM_EXAMPLES), 7.0
    )
    self.assertEqual(
      client_work.client_weight(num_examples, weighting.UNIFORM), 1.0
    )
    for of in weighting:
      self.assertEqual(client_work.client_weight(tf.constant(0), of), 0.0)
    with self.assertRaisesRegex(
      errors.InputError, "^client_weighting must be .* UNIFORM, got 'uniform'"
    ):
      client_work.client_weight(num_examples, 'uniform')

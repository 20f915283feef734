# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Training of a head and then of a body, in graphs, against NumPy."""

from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import models
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_RATE = 0.3
_HEAD, _BODY = (False, False, True, True), (True, True, False, False)
_BATCHES = ref.make_batches(7, 0)


def _train(head_epochs, body_epochs, *, momentum=None, data=None):
  """Returns the result and its finalized metrics."""
  train = client_work.build_alternating_training(
    tff.learning.optimizers.build_sgdm(_RATE, momentum=momentum),
    _HEAD,
    head_epochs=head_epochs,
    body_epochs=body_epochs,
  )
  model = ref.create_functional_model()
  bound = models.bind_model(model)
  flat = models.FlatWeights(
    tuple(tf.constant(w) for w in ref.initial_weights()), ()
  )
  result = tf.function(lambda data: train(bound, flat, data))(
    data or ref.to_dataset(_BATCHES, epochs=head_epochs + body_epochs)
  )
  return result, model.finalize_metrics(result.metrics_state)


class AlternatingTrainingTest(parameterized.TestCase):
  def _assert_close(self, actual, expected):
    for a, e in zip(actual, expected, strict=True):
      tolerance.assert_close(
        a, e, relative=tolerance.FLOAT32_STEPS, scale=np.abs(e).max() + 1
      )

  @parameterized.parameters((1, 1), (3, 2))
  def test_equals_numpy(self, head_epochs, body_epochs):
    result, metrics = _train(head_epochs, body_epochs)
    head = ref.train(
      ref.initial_weights(),
      _BATCHES,
      rate=_RATE,
      epochs=head_epochs,
      trained=_HEAD,
    )
    both = ref.train(
      head, _BATCHES, rate=_RATE, epochs=body_epochs, trained=_BODY
    )
    self._assert_close(result.weights.trainable, both)
    epochs = head_epochs + body_epochs
    self.assertEqual(result.num_examples, 7 * epochs)
    self.assertEqual(result.num_batches, 2 * epochs)
    self.assertEqual(metrics['num_examples'], 7 * epochs)

  def test_the_optimizer_is_new_for_each_part(self):
    result, _ = _train(2, 1, momentum=0.9)
    weights = [np.float64(w) for w in ref.initial_weights()]
    for part, epochs in ((_HEAD, 2), (_BODY, 1)):
      velocity = [np.zeros_like(w) for w in weights]
      for x, y in _BATCHES * epochs:
        gradients = ref.gradients(weights, x, y)
        velocity = [0.9 * v + g for v, g in zip(velocity, gradients)]
        weights = [
          w - _RATE * v if t else w for w, v, t in zip(weights, velocity, part)
        ]
    self._assert_close(result.weights.trainable, weights)

  def test_needs_whole_epochs(self):
    two = ref.to_dataset(_BATCHES, epochs=2)
    straddling = two.unbatch().batch(4)
    for head_epochs, data in ((2, two), (1, straddling)):
      with self.assertRaisesRegex(Exception, 'FedRep was built with'):
        _train(head_epochs, 1, data=data)

  @parameterized.parameters((0, 1, 'head_epochs'), (1, 0, 'body_epochs'))
  def test_refuses(self, head_epochs, body_epochs, name):
    with self.assertRaisesRegex(errors.InputError, f'{name} must be 1'):
      _train(head_epochs, body_epochs)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Training of a head and then of a body, in graphs, against NumPy."""

from fedfish_tff import client_work
from fedfish_tff import errors
from tests import client_updates
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

_RATE = 0.3
_HEAD, _BODY = (False, False, True, True), (True, True, False, False)
_BATCHES = ref.make_batches(7, 0)


def _train(head_epochs, body_epochs, *, momentum=None, data=None):
  train = client_work.build_alternating_training(
    tff.learning.optimizers.build_sgdm(_RATE, momentum=momentum),
    _HEAD,
    head_epochs=head_epochs,
    body_epochs=body_epochs,
  )
  return client_updates.run(
    train, data or _BATCHES, epochs=head_epochs + body_epochs
  )


class AlternatingTrainingTest(parameterized.TestCase):
  @parameterized.parameters((1, 1, None), (3, 2, None), (2, 1, 0.9))
  def test_equals_numpy(self, head_epochs, body_epochs, momentum):
    """The momentum is new for each part."""
    result = _train(head_epochs, body_epochs, momentum=momentum)
    weights = [np.float64(w) for w in ref.initial_weights()]
    for part, epochs in ((_HEAD, head_epochs), (_BODY, body_epochs)):
      velocity = [np.zeros_like(w) for w in weights]
      for x, y in _BATCHES * epochs:
        gradients = ref.gradients(weights, x, y)
        velocity = [
          (momentum or 0) * v + g for v, g in zip(velocity, gradients)
        ]
        weights = [
          w - _RATE * v if t else w for w, v, t in zip(weights, velocity, part)
        ]
    tolerance.assert_all_close(
      result.weights.trainable,
      weights,
      least_scale=1.0,
    )
    epochs = head_epochs + body_epochs
    self.assertEqual(result.num_examples, 7 * epochs)
    self.assertEqual(result.num_batches, 2 * epochs)
    self.assertEqual(np.sum(result.metrics_state['num_examples']), 7 * epochs)

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

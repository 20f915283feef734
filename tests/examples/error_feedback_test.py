# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a method with client states that stands outside of the package."""

from examples import error_feedback
from fedfish_tff.execution import contexts
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_SIZES = (7, 12)


def setUpModule():
  contexts.set_default_context()


def _build(share):
  sgd = tff.learning.optimizers.build_sgdm
  return error_feedback.build_error_feedback(
    ref.create_functional_model(), sgd(0.3), sgd(1.0), share=share
  )


def _client_data():
  return [ref.make_batches(n, i, batch_size=4) for i, n in enumerate(_SIZES)]


def _datasets(client_data):
  return [
    tf.data.Dataset.from_generator(
      lambda batches=batches: iter(batches),
      output_signature=(
        tf.TensorSpec([None, ref.NUM_FEATURES], tf.float32),
        tf.TensorSpec([None], tf.int32),
      ),
    )
    for batches in client_data
  ]


def _largest(tensor, share):
  flat = tensor.ravel()
  kept = np.argsort(-abs(flat), kind='stable')[
    : max(1, round(share * flat.size))
  ]
  sent = np.zeros_like(flat)
  sent[kept] = flat[kept]
  return sent.reshape(tensor.shape)


class ErrorFeedbackTest(absltest.TestCase):
  def _run(self, process, rounds):
    data = _datasets(_client_data())
    state = process.initialize()
    states = [process.initialize_client(state) for _ in data]
    for _ in range(rounds):
      output = process.next(state, states, data)
      state, states = output.state, output.client_states
    return process.get_model_weights(state).trainable, states

  def test_rounds_equal_numpy(self):
    share = 0.3
    found, found_states = self._run(_build(share), rounds=3)
    weights = [
      np.float64(w) for w in ref.create_functional_model().initial_weights[0]
    ]
    states = [[np.zeros_like(w) for w in weights] for _ in _SIZES]
    for _ in range(3):
      sums = [np.zeros_like(w) for w in weights]
      for i, batches in enumerate(_client_data()):
        local = weights
        for x, y in batches:
          local = [
            w - 0.3 * g for w, g in zip(local, ref.gradients(local, x, y))
          ]
        wanted = [w - v + s for w, v, s in zip(weights, local, states[i])]
        sent = [_largest(tensor, share) for tensor in wanted]
        states[i] = [a - b for a, b in zip(wanted, sent)]
        sums = [s + _SIZES[i] * part for s, part in zip(sums, sent)]
      weights = [w - s / sum(_SIZES) for w, s in zip(weights, sums)]
    for a, b in zip(found, weights, strict=True):
      tolerance.assert_close(a, b, relative=tolerance.FLOAT32_SUMS)
    for found_state, state in zip(found_states, states, strict=True):
      self.assertGreater(max(abs(t).max() for t in state), 1e-3)
      for a, b in zip(found_state, state, strict=True):
        tolerance.assert_close(a, b, relative=tolerance.FLOAT32_SUMS)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The average of weights against NumPy's, and with the process alone."""

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.models import dense

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_DECAY = 0.6
_ROUNDS = 4


def _build_process():
  return algorithms.build_fed_avg(
    dense.create_mlp_classifier(
      num_features=3, num_classes=2, hidden_units=(), seed=0
    ),
    tff.learning.optimizers.build_sgdm(0.1),
    tff.learning.optimizers.build_adam(0.1),
  )


def _clients(round_number):
  rng = np.random.default_rng(round_number)
  return [
    tf.data.Dataset.from_tensors(
      (
        rng.normal(size=[4, 3]).astype(np.float32),
        rng.integers(2, size=4).astype(np.int32),
      )
    )
    for _ in range(2)
  ]


def _assert_close(found, expected):
  for one, other in zip(found, expected, strict=True):
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


class WeightAveragingTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.inner = _build_process()
    cls.process = algorithms.compose_weight_averaging(cls.inner, decay=_DECAY)

  def test_rounds(self):
    """Clients train as without it, and the model is the weighted average."""
    inner_state, state = self.inner.initialize(), self.process.initialize()
    initial = self.inner.get_model_weights(inner_state).trainable
    _assert_close(self.process.get_model_weights(state).trainable, initial)
    history = []
    for round_number in range(1, _ROUNDS + 1):
      clients = _clients(round_number)
      inner_state, inner_metrics = self.inner.next(inner_state, clients)
      state, metrics = self.process.next(state, clients)
      tf.nest.map_structure(
        np.testing.assert_array_equal, inner_metrics, metrics
      )
      weights = self.inner.get_model_weights(inner_state)
      raw = self.process.get_training_weights(state)
      tf.nest.map_structure(np.testing.assert_array_equal, raw, weights)
      history.append(weights.trainable)
      shares = _DECAY ** np.arange(round_number)[::-1]
      _assert_close(
        self.process.get_model_weights(state).trainable,
        [np.average(w, axis=0, weights=shares) for w in zip(*history)],
      )

  def test_set_weights_begin_anew(self):
    state, _ = self.process.next(self.process.initialize(), _clients(1))
    weights = tff.learning.models.ModelWeights(
      [np.full_like(w, 2.0) for w in self.process.get_model_weights(state)[0]],
      [],
    )
    state = self.process.set_model_weights(state, weights)
    for get in (
      self.process.get_model_weights,
      self.process.get_training_weights,
    ):
      _assert_close(get(state).trainable, weights.trainable)
    self.assertEqual(state.num_rounds, 0)

  def test_hyper_parameters_are_the_process_s(self):
    state = self.process.initialize()
    hparams = self.process.get_hparams(state)
    self.assertEqual(hparams, self.inner.get_hparams(state.process))
    state = self.process.set_hparams(state, hparams)
    self.assertEqual(self.process.get_hparams(state), hparams)

  def test_it_costs_no_communication(self):
    self.assertEqual(
      simulation.measure_wire_bytes(self.process),
      simulation.measure_wire_bytes(self.inner),
    )

  def test_the_decay_is_checked(self):
    with self.assertRaisesRegex(errors.InputError, 'decay .*1.0'):
      algorithms.compose_weight_averaging(self.inner, decay=1.0)

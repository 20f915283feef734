# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Partial exchange against NumPy, and in the limits in which it is FedAvg."""

import functools

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_CLIENTS = [ref.make_batches(n, seed) for seed, n in enumerate((10, 7, 3))]
_MODEL = ref.create_functional_model()
_HALF = client_work.build_share_selector(0.5)


def setUpModule():
  contexts.set_default_context()


def _sgd(rate):
  return tff.learning.optimizers.build_sgdm(rate)


@functools.cache
def _build_share():
  """Tracing takes most of the time here, so one process serves many tests."""
  return algorithms.build_partial_exchange(_MODEL, _sgd(0.3), selector=_HALF)


def _start(process, weights=None):
  state = process.initialize()
  own = process.get_model_weights(state)
  start = weights or ref.initial_weights()
  if isinstance(own.trainable, list):
    start = list(start)
  return process.set_model_weights(
    state, tff.learning.models.ModelWeights(start, type(start)())
  )


def _run(process, clients, *, epochs=1, rounds=3):
  state = _start(process)
  for _ in range(rounds):
    state, metrics = process.next(
      state, [ref.to_dataset(c, epochs=epochs) for c in clients]
    )
  return process.get_model_weights(state).trainable, metrics


def _masks(kind, start, end):
  """What is sent, in NumPy: bools of the tensors' shapes, and mask bytes."""
  moved = [e - s for s, e in zip(start, end)]
  drift = np.array([np.linalg.norm(m) for m in moved])
  if kind == 'coordinates':
    flat = np.abs(np.concatenate([np.ravel(m) for m in moved]))
    least = np.sort(flat)[-13]  # ceil(0.3 * 43)
    return [np.abs(m) >= least for m in moved], 6
  chosen = np.isin(np.arange(4), np.argsort(-drift)[:2])
  return [np.full(m.shape, c) for m, c in zip(moved, chosen)], 1


def _round(kind, weights, clients, *, rate, server_rate):
  """One round in NumPy; also what was sent by whom and how many bytes."""
  numerator = [np.zeros(np.shape(w)) for w in weights]
  denominator = [np.zeros(np.shape(w)) for w in weights]
  payload, all_masks = 0, []
  for batches in clients:
    trained = ref.train(weights, batches, rate=rate, epochs=1)
    masks, mask_bytes = _masks(kind, weights, trained)
    num_examples = sum(len(y) for _, y in batches)
    payload += mask_bytes + 4 * sum(int(m.sum()) for m in masks)
    all_masks.append(masks)
    for i, mask in enumerate(masks):
      numerator[i] += num_examples * mask * (weights[i] - trained[i])
      denominator[i] += num_examples * mask
  new = tuple(
    w - server_rate * np.where(d > 0, n / np.where(d > 0, d, 1), 0)
    for w, n, d in zip(weights, numerator, denominator)
  )
  return new, all_masks, payload


class PartialExchangeTest(parameterized.TestCase):
  def _check_equals_numpy(self, kind, process, server_rate):
    actual, metrics = _run(process, _CLIENTS)
    expected = tuple(np.float64(w) for w in ref.initial_weights())
    for _ in range(3):
      expected, masks, payload = _round(
        kind, expected, _CLIENTS, rate=0.3, server_rate=server_rate
      )
    for a, e in zip(actual, expected, strict=True):
      np.testing.assert_allclose(a, e, rtol=1e-4, atol=1e-5)
    measured = metrics['aggregator']
    self.assertEqual(measured['payload_bytes'], payload)
    for i, share in enumerate(measured['sent'].values()):
      self.assertAlmostEqual(
        share, np.mean([np.mean(m[i]) for m in masks]), places=5
      )

  def test_equals_numpy(self):
    self._check_equals_numpy('share', _build_share(), 1.0)

  @pytest.mark.thorough
  def test_coordinates_equal_numpy(self):
    process = algorithms.build_partial_exchange(
      _MODEL,
      _sgd(0.3),
      _sgd(0.7),
      selector=client_work.build_coordinate_selector(0.3),
    )
    self._check_equals_numpy('coordinates', process, 0.7)

  @pytest.mark.thorough
  def test_everything_sent_is_fed_avg_bit_for_bit(self):
    model = ref.create_variable_model
    server = tff.learning.optimizers.build_adam(0.05)
    fed_avg, _ = _run(
      algorithms.build_fed_avg(model, _sgd(0.1), server), _CLIENTS
    )
    partial, _ = _run(
      algorithms.build_partial_exchange(
        model,
        _sgd(0.1),
        server,
        selector=client_work.build_coordinate_selector(1.0),
      ),
      _CLIENTS,
    )
    for a, b in zip(fed_avg, partial, strict=True):
      np.testing.assert_array_equal(a, b)

  def test_part_of_fed_fish_equals_numpy(self):
    process = algorithms.build_fed_fish(
      _MODEL, _sgd(0.3), _sgd(1.0), selector=_HALF
    )
    actual, _ = _run(process, _CLIENTS, rounds=1)
    start = tuple(np.float64(w) for w in ref.initial_weights())
    numerator = [np.zeros(w.shape) for w in start]
    denominator = [np.zeros(w.shape) for w in start]
    for batches in _CLIENTS:
      trained = ref.train(start, batches, rate=0.3, epochs=1)
      fisher = ref.fisher(trained, batches)
      masks, _ = _masks('share', start, trained)
      weight = sum(len(y) for _, y in batches)
      for i, mask in enumerate(masks):
        numerator[i] += weight * mask * fisher[i] * (start[i] - trained[i])
        denominator[i] += weight * mask * fisher[i]
    for a, w, n, d in zip(actual, start, numerator, denominator, strict=True):
      expected = w - np.where(d > 0, n / np.where(d > 0, d, 1), 0)
      np.testing.assert_allclose(a, expected, rtol=1e-4, atol=1e-5)

  def test_one_client_gives_its_own_tensors(self):
    process = _build_share()
    actual, _ = _run(process, _CLIENTS[:1], rounds=1)
    start = ref.initial_weights()
    trained = ref.train(start, _CLIENTS[0], rate=0.3, epochs=1)
    masks, _ = _masks('share', start, trained)
    for a, s, e, m in zip(actual, start, trained, masks, strict=True):
      tolerance.assert_close(
        a, np.where(m, e, s), relative=tolerance.FLOAT32_SUMS
      )
      if not m.any():
        np.testing.assert_array_equal(a, s)

  @parameterized.parameters('fed_avg', 'fed_fish')
  @pytest.mark.thorough
  def test_what_nobody_sent_stays_whatever_the_server_optimizer(self, method):
    arguments = dict(
      selector=_HALF,
      tensor_names=('a/kernel', 'a/bias', 'b/kernel', 'b/bias'),
    )
    builders = {
      'fed_avg': algorithms.build_partial_exchange,
      'fed_fish': algorithms.build_fed_fish,
    }
    # Its momentum would move all weights.
    process = builders[method](
      _MODEL,
      _sgd(0.3),
      tff.learning.optimizers.build_adam(0.1),
      **arguments,
    )
    state = _start(process)
    seen = 0
    for _ in range(4):
      before = process.get_model_weights(state).trainable
      state, metrics = process.next(
        state, [ref.to_dataset(c) for c in _CLIENTS]
      )
      after = process.get_model_weights(state).trainable
      sent = metrics['aggregator']['sent'].values()
      for b, a, share in zip(before, after, sent, strict=True):
        self.assertEqual(bool(np.any(a != b)), share > 0)
        seen += share == 0
    self.assertGreater(seen, 0)

  def test_wire_bytes_are_those_of_the_fixed_types(self):
    process = _build_share()
    whole = simulation.measure_wire_bytes(
      algorithms.build_fed_avg(_MODEL, _sgd(0.3))
    )
    partial = simulation.measure_wire_bytes(process)
    # Four denominators and counts of four bytes each in place of one weight,
    # and the number of clients.
    self.assertEqual(partial.upload - whole.upload, 4 * 4 + 4 * 4 + 4 - 4)

  def test_bad_arguments(self):
    model = _MODEL
    with self.assertRaisesRegex(errors.InputError, 'tensor_names'):
      algorithms.build_partial_exchange(
        model, _sgd(0.1), selector=_HALF, tensor_names=['a']
      )
    with self.assertRaisesRegex(errors.InputError, 'groups for 2 tensors'):
      algorithms.build_partial_exchange(
        model,
        _sgd(0.1),
        selector=client_work.build_share_selector(0.5, groups=(0, 1)),
      )
    with self.assertRaisesRegex(errors.InputError, 'diagnostics is True'):
      algorithms.build_fed_fish(
        model, _sgd(0.1), selector=_HALF, diagnostics=True
      )
    with self.assertRaisesRegex(TypeError, 'selector must be .*got 0.3'):
      algorithms.build_partial_exchange(model, _sgd(0.1), selector=0.3)

  def test_a_model_without_trainable_tensors_is_refused(self):
    def create_model():
      network = tf.keras.Sequential(
        [
          tf.keras.layers.InputLayer((ref.NUM_FEATURES,)),
          tf.keras.layers.ReLU(),
        ]
      )
      return tff.learning.models.from_keras_model(
        network,
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        input_spec=ref.input_spec(),
      )

    with self.assertRaisesRegex(errors.InputError, 'no trainable tensors'):
      algorithms.build_partial_exchange(create_model, _sgd(0.1), selector=_HALF)

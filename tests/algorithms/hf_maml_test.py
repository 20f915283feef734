# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""HF-MAML's rounds against NumPy; its local steps: see meta_training_test."""

import functools
import itertools

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff.execution import contexts
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow_federated as tff

# Three batches, two and one.
_CLIENTS = [ref.make_batches(n, seed) for seed, n in enumerate((10, 7, 3))]
_MODELS = {
  'functional': ref.create_functional_model(),
  'variable': ref.create_variable_model,
}
_HESSIAN_FREE = client_work.MetaGradient.HESSIAN_FREE
_EXACT = client_work.MetaGradient.EXACT
_FIRST_ORDER = client_work.MetaGradient.FIRST_ORDER
_INDEPENDENT = client_work.MetaBatches.INDEPENDENT
_SHARED = client_work.MetaBatches.SHARED
_UNIFORM = tff.learning.ClientWeighting.UNIFORM
_NUM_EXAMPLES = tff.learning.ClientWeighting.NUM_EXAMPLES
_RATE, _ALPHA, _DELTA, _SERVER_RATE = 0.3, 0.5, 0.5, 0.7


def setUpModule():
  contexts.set_default_context()


def _sgd(rate):
  return tff.learning.optimizers.build_sgdm(rate)


@functools.cache
def _build(kind='functional', order=_HESSIAN_FREE, weighting=_UNIFORM):
  return algorithms.build_hf_maml(
    _MODELS[kind],
    _sgd(_RATE),
    _sgd(_SERVER_RATE),
    personal_learning_rate=_ALPHA,
    meta_gradient=order,
    difference=_DELTA,
    client_weighting=weighting,
  )


def _run(process, clients):
  state = process.initialize()
  start = ref.initial_weights()
  if isinstance(process.get_model_weights(state).trainable, list):
    start = list(start)
  state = process.set_model_weights(
    state, tff.learning.models.ModelWeights(start, type(start)())
  )
  state, metrics = process.next(state, [ref.to_dataset(c) for c in clients])
  return process.get_model_weights(state).trainable, metrics['client_work']


def _expected(order, weighting):
  """One round by NumPy; every client takes one step, or two of first order."""
  size = 2 if order is _FIRST_ORDER else 3
  start = ref.initial_weights()
  total, total_weight = [np.zeros(w.shape) for w in start], 0
  for batches in _CLIENTS:
    weight = 1 if weighting is _UNIFORM else sum(len(y) for _, y in batches)
    trained = start
    for first in range(0, len(batches), size):
      trained = ref.maml_step(
        trained,
        list(itertools.islice(itertools.cycle(batches), first, first + size)),
        rate=_RATE,
        personal_rate=_ALPHA,
        difference=_DELTA if order is _HESSIAN_FREE else None,
      )
    total = [t + weight * (e - s) for t, e, s in zip(total, trained, start)]
    total_weight += weight
  return [s + _SERVER_RATE * t / total_weight for s, t in zip(start, total)]


class HfMamlTest(parameterized.TestCase):
  def test_equals_numpy(self):
    self._check_equals_numpy('functional', _HESSIAN_FREE, _UNIFORM)

  @parameterized.parameters(
    ('functional', _EXACT, _NUM_EXAMPLES),
    ('functional', _FIRST_ORDER, _UNIFORM),
    ('variable', _HESSIAN_FREE, _NUM_EXAMPLES),
    ('variable', _EXACT, _UNIFORM),
  )
  @pytest.mark.thorough
  def test_every_order_equals_numpy(self, kind, order, weighting):
    self._check_equals_numpy(kind, order, weighting)

  def _check_equals_numpy(self, kind, order, weighting):
    weights, metrics = _run(_build(kind, order, weighting), _CLIENTS)
    expected = _expected(order, weighting)
    for a, e in zip(weights, expected, strict=True):
      tolerance.assert_close(a, e, relative=tolerance.FLOAT32_STEPS)
    self.assertEqual(metrics['excluded_clients'], 0)
    self.assertTrue(np.isfinite(metrics['train']['loss']))

  @pytest.mark.thorough
  def test_metrics_of_a_variable_model_are_of_the_second_batches(self):
    _, functional = _run(_build(), _CLIENTS)
    _, variable = _run(
      _build('variable', _HESSIAN_FREE, _NUM_EXAMPLES), _CLIENTS
    )
    for metrics in (functional, variable):
      # 4 of 10, 3 of 7, and all of 3.
      self.assertEqual(metrics['train']['num_examples'], 10)
    self.assertAlmostEqual(
      functional['train']['loss'], variable['train']['loss'], places=5
    )

  def test_diverged_clients_are_left_out_and_counted(self):
    x, y = _CLIENTS[1][0]
    broken = [(np.full_like(x, np.nan), y)]
    process = _build()
    weights, metrics = _run(process, [_CLIENTS[0], broken, []])
    self.assertEqual(metrics['excluded_clients'], 1)
    expected, _ = _run(process, [_CLIENTS[0]])
    for a, e in zip(weights, expected, strict=True):
      np.testing.assert_array_equal(a, e)

  def test_a_client_s_own_model_is_by_plain_steps(self):
    process = _build()
    weights = process.get_model_weights(process.initialize())
    trained = process.local_training(weights, ref.to_dataset(_CLIENTS[0]))
    expected = ref.train(
      ref.initial_weights(), _CLIENTS[0], rate=_ALPHA, epochs=1
    )
    for a, e in zip(trained.trainable, expected, strict=True):
      tolerance.assert_close(a, e, relative=tolerance.FLOAT32_SUMS)

  @parameterized.parameters(
    # Four gradients for three batches, of which one is an epoch's.
    (_HESSIAN_FREE, _INDEPENDENT, 2),
    (_FIRST_ORDER, _INDEPENDENT, 0),
    (_EXACT, _SHARED, 18),
    (_FIRST_ORDER, _SHARED, 6),
  )
  def test_costs(self, order, batches, extra_passes):
    process = algorithms.build_hf_maml(
      _MODELS['functional'],
      _sgd(_RATE),
      meta_gradient=order,
      meta_batches=batches,
      local_epochs=6,
    )
    self.assertAlmostEqual(process.extra_passes, extra_passes)

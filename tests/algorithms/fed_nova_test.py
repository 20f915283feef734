# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedNova against NumPy, and where it is FedAvg."""

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff.execution import contexts
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

_RATE = 0.2


def setUpModule():
  contexts.set_default_context()


def _sgd(momentum=None):
  return tff.learning.optimizers.build_sgdm(_RATE, momentum=momentum)


def _run(process, clients, epochs):
  state = process.initialize()
  state = process.set_model_weights(
    state, tff.learning.models.ModelWeights(ref.initial_weights(), ())
  )
  for _ in range(2):
    data = [ref.to_dataset(c, epochs=epochs) for c in clients]
    state, _ = process.next(state, data)
  return process.get_model_weights(state).trainable


def _train(weights, batches, momentum, nesterov, decay):
  """Returns the weights after a client's steps; float64."""
  weights = [np.float64(w) for w in weights]
  velocity = [0.0] * len(weights)
  for batch in batches:
    gradients = [
      g + decay * w for g, w in zip(ref.gradients(weights, *batch), weights)
    ]
    velocity = [momentum * v + g for v, g in zip(velocity, gradients)]
    ahead = [g + momentum * v for g, v in zip(gradients, velocity)]
    weights = [
      w - _RATE * s
      for w, s in zip(weights, ahead if nesterov else velocity, strict=True)
    ]
  return weights


def _norm(steps, momentum, nesterov, decay):
  """Returns sum_k a_k by the coefficient of each gradient in the sum of steps."""
  a = 0.0
  for k in range(steps):
    # Gradient k is 1 and all others 0.
    weight = velocity = 0.0
    for step in range(steps):
      gradient = float(step == k) + decay * weight
      velocity = momentum * velocity + gradient
      moved = gradient + momentum * velocity if nesterov else velocity
      weight -= _RATE * moved
    a -= weight / _RATE
  return a


class FedNovaTest(parameterized.TestCase):
  @parameterized.parameters(
    (_sgd(), 0.0, False, 0.0),
    (_sgd(0.6), 0.6, False, 0.0),
    (client_work.build_nesterov(_RATE, momentum=0.6), 0.6, True, 0.0),
    (
      client_work.build_weight_decay_optimizer(_sgd(), 0.3),
      *(0.0, False, 0.3),
    ),
  )
  def test_equals_numpy(self, optimizer, *kind):
    clients = [ref.make_batches(n, seed) for seed, n in enumerate((10, 6, 2))]
    epochs = 2
    process = algorithms.build_fed_nova(
      ref.create_functional_model(), optimizer
    )
    actual = _run(process, clients, epochs)
    shares = np.array([10, 6, 2]) / 18
    norms = [_norm(epochs * len(c), *kind) for c in clients]
    if kind[0] and not kind[1]:
      # As section 3 of the paper has it.
      tau = np.array([epochs * len(c) for c in clients])
      rho = kind[0]
      np.testing.assert_allclose(
        norms, (tau - rho * (1 - rho**tau) / (1 - rho)) / (1 - rho)
      )
    weights = ref.initial_weights()
    for _ in range(2):
      trained = [_train(weights, c * epochs, *kind) for c in clients]
      weights = [
        w
        - (shares @ norms)
        * sum(p * (w - t[i]) / a for p, t, a in zip(shares, trained, norms))
        for i, w in enumerate(weights)
      ]
    for a, e in zip(actual, weights, strict=True):
      tolerance.assert_close(a, e, relative=tolerance.FLOAT32_STEPS)

  def test_of_as_many_steps_each_it_is_fed_avg(self):
    clients = [ref.make_batches(n, seed) for seed, n in enumerate((7, 8))]
    model = ref.create_functional_model()
    nova, avg = (
      _run(build(model, _sgd(0.5)), clients, 3)
      for build in (algorithms.build_fed_nova, algorithms.build_fed_avg)
    )
    for a, e in zip(nova, avg, strict=True):
      tolerance.assert_close(a, e, relative=tolerance.FLOAT32_SUMS)

  def test_refuses_steps_that_are_not_linear(self):
    with self.assertRaisesRegex(errors.InputError, 'must be SGD, .* beta_1'):
      algorithms.build_fed_nova(
        ref.create_functional_model(), tff.learning.optimizers.build_adam(0.1)
      )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedNova against NumPy, and where it is FedAvg."""

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

_RATE = 0.2
_MODEL = rounds.MODELS['functional']


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


class FedNovaTest(rounds.TestCase):
  @parameterized.parameters(
    (rounds.sgd(_RATE), 0.0, False, 0.0),
    (rounds.sgd(_RATE, 0.6), 0.6, False, 0.0),
    (client_work.build_nesterov(_RATE, momentum=0.6), 0.6, True, 0.0),
    (
      client_work.build_weight_decay_optimizer(rounds.sgd(_RATE), 0.3),
      *(0.0, False, 0.3),
    ),
  )
  def test_follows_numpy(self, optimizer, *kind):
    epochs = 2

    def client_fn(server, state, batches):
      trained = _train(server, batches * epochs, *kind)
      steps = epochs * len(batches)
      return (rounds.count_examples(batches), trained, steps), state

    def server_fn(server, sent):
      sizes, ends, steps = zip(*sent.values())
      shares = np.array(sizes) / sum(sizes)
      norms = [_norm(n, *kind) for n in steps]
      return tuple(
        w
        - (shares @ norms)
        * sum(p * (w - e[i]) / a for p, e, a in zip(shares, ends, norms))
        for i, w in enumerate(server)
      )

    run = rounds.Rounds(
      algorithms.build_fed_nova(_MODEL, optimizer), epochs=epochs
    )
    self.check_follows(
      run,
      rounds.reference(run.server(), client_fn=client_fn, server_fn=server_fn),
    )

  def test_norms_are_those_of_the_paper(self):
    """The case of section 3, where SGD has momentum."""
    rho, tau = 0.6, np.arange(1, 7)
    np.testing.assert_allclose(
      [_norm(steps, rho, False, 0.0) for steps in tau],
      (tau - rho * (1 - rho**tau) / (1 - rho)) / (1 - rho),
    )

  def test_of_as_many_steps_each_it_is_fed_avg(self):
    nova, avg = (
      rounds.Rounds(build(_MODEL, rounds.sgd(_RATE, 0.5)), epochs=3)
      for build in (algorithms.build_fed_nova, algorithms.build_fed_avg)
    )
    data = {'a': ref.make_batches(7, 0), 'b': ref.make_batches(8, 1)}
    for _ in range(2):
      nova.run('ab', data)
      avg.run('ab', data)
    self.assert_close(nova.server(), avg.server())

  def test_refuses_steps_that_are_not_linear(self):
    with self.assertRaisesRegex(errors.InputError, 'must be SGD, .* beta_1'):
      algorithms.build_fed_nova(_MODEL, tff.learning.optimizers.build_adam(0.1))

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedDyn against NumPy, and where it ends."""

from fedfish_tff import algorithms
from tests import numpy_reference as ref
from tests import rounds

import numpy as np
import tensorflow as tf

_RATE, _ALPHA, _EPOCHS = 0.2, 0.3, 2


def _reference(start):
  """Algorithm 1; the server has the weights and the paper's h."""
  zeros = [np.zeros(w.shape) for w in start]

  def client_fn(server, gradient, batches):
    start, _ = server
    gradient = gradient or zeros
    weights = list(start)
    for batch in batches * _EPOCHS:
      weights = [
        w - _RATE * (g - own + _ALPHA * (w - s))
        for w, g, own, s in zip(
          weights, ref.gradients(weights, *batch), gradient, start
        )
      ]
    return weights, [
      own - _ALPHA * (w - s) for own, w, s in zip(gradient, weights, start)
    ]

  def server_fn(server, sent):
    weights, h = server
    h = [
      old - _ALPHA / len(rounds.SIZES) * sum(end - w for end in ends)
      for old, w, *ends in zip(h, weights, *sent.values())
    ]
    means = [np.mean(ends, axis=0) for ends in zip(*sent.values())]
    return [m - new / _ALPHA for m, new in zip(means, h)], h

  return rounds.reference(
    (start, zeros), client_fn=client_fn, server_fn=server_fn
  )


class FedDynTest(rounds.TestCase):
  def test_follows_numpy_with_partial_participation(self):
    run = rounds.Rounds(
      algorithms.build_fed_dyn(
        rounds.MODELS['functional'],
        rounds.sgd(_RATE),
        num_clients=len(rounds.SIZES),
        regularization=_ALPHA,
      ),
      epochs=_EPOCHS,
    )
    expected = list(_reference(run.server()))
    self.check_follows(
      run, [(weights, states) for (weights, _), states in expected]
    )
    # Else the steps of FedProx would have passed.
    (_, h), _ = expected[-1]
    self.assertGreater(max(np.abs(tensor).max() for tensor in h), 0.01)

  def test_ends_at_the_optimum_of_the_mean_loss(self):
    """It converges where FedAvg with as many local steps does not."""
    rng = np.random.default_rng(0)
    clients = []
    for target, scale in ((3.0, 1.0), (-1.0, 0.4), (0.5, 1.6)):
      x = np.float32(rng.normal(size=(6, 2)) * scale)
      clients.append(
        (x, np.float32(x @ [target, -target] + rng.normal(size=6)))
      )
    data = [
      tf.data.Dataset.from_tensor_slices(c).batch(6).repeat(10) for c in clients
    ]
    model, optimizer = rounds.create_regression(), rounds.sgd(0.2)
    dyn = algorithms.build_fed_dyn(
      model, optimizer, num_clients=3, regularization=0.5
    )
    avg = algorithms.build_fed_avg(model, optimizer)
    state, averaged = dyn.initialize(), avg.initialize()
    states = [dyn.initialize_client(state)] * 3
    for _ in range(60):
      state, states, _ = dyn.next(state, states, data)
      averaged, _ = avg.next(averaged, data)
    x, y = (np.concatenate(parts) for parts in zip(*clients))
    optimum = np.linalg.lstsq(np.float64(x), np.float64(y), rcond=None)[0]
    found, of_avg = (
      process.get_model_weights(end).trainable[0]
      for process, end in ((dyn, state), (avg, averaged))
    )
    np.testing.assert_allclose(found, optimum, atol=1e-4)
    self.assertGreater(np.abs(of_avg - optimum).max(), 0.01)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounds of processes with client states, and of models with local parts."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence

from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

SIZES = {'a': 6, 'b': 9, 'c': 4, 'd': 13}
DATA = {c: ref.make_batches(n, n) for c, n in SIZES.items()}
COHORTS = ('ab', 'cd', 'abc', 'bd', 'ab')
BROKEN = [(np.full_like(x, np.nan), y) for x, y in DATA['a'][:1]]


def create_regression():
  """A linear model of two features, with losses of mean (x w - y)^2 / 2."""

  @tf.function
  def predict(model_weights, x, training):
    del training
    ((w,), _) = model_weights
    return tf.linalg.matvec(x, w)

  def loss(output, label, sample_weight=None):
    del sample_weight
    return tf.reduce_mean((output - label) ** 2) / 2

  return tff.learning.models.FunctionalModel(
    initial_weights=((np.zeros(2, np.float32),), ()),
    predict_on_batch_fn=predict,
    loss_fn=loss,
    input_spec=(
      tf.TensorSpec([None, 2], tf.float32),
      tf.TensorSpec([None], tf.float32),
    ),
  )


class Rounds:
  """A process with a dictionary of client states."""

  def __init__(self, process, *, epochs):
    self.process = process
    self.epochs = epochs
    self.state = process.initialize()
    self.clients = {}

  def run(self, cohort, data=None):
    """Runs a round of clients; `data` replaces that of some of them."""
    data = DATA | (data or {})
    new_client = self.process.initialize_client(self.state)
    output = self.process.next(
      self.state,
      [self.clients.get(c, new_client) for c in cohort],
      [ref.to_dataset(data[c], epochs=self.epochs) for c in cohort],
    )
    self.state = output.state
    self.clients.update(zip(cohort, output.client_states, strict=True))
    return output.metrics

  def server(self):
    return tuple(self.process.get_model_weights(self.state).trainable)

  def own(self, client):
    return tuple(
      self.process.client_model_weights(
        self.state, self.clients[client]
      ).trainable
    )


class PartiallyLocalReference:
  """Clients that keep some tensors, in NumPy, one after another.

  `train` takes (weights, batches), returns all trained weights in float64.
  """

  def __init__(
    self,
    start: ref.Weights,
    train: Callable[..., ref.Weights],
    *,
    local: Sequence[bool],
    server_rate: float = 1.0,
    weights: Mapping[str, float] = SIZES,
  ):
    self.server = tuple(np.float64(w) for w in start)
    self.clients = {}
    self.train = train
    self.local = local
    self.server_rate = server_rate
    self.weights = weights

  def own(self, client):
    kept = self.clients.get(client, self.server)
    return tuple(
      k if t else s for k, s, t in zip(kept, self.server, self.local)
    )

  def run(self, cohort):
    trained = {c: self.train(self.own(c), DATA[c]) for c in cohort}
    shares = np.array([self.weights[c] for c in cohort], np.float64)
    shares /= shares.sum()
    self.server = tuple(
      s
      if t
      else s
      + self.server_rate
      * sum(share * (trained[c][i] - s) for share, c in zip(shares, cohort))
      for i, (s, t) in enumerate(zip(self.server, self.local))
    )
    self.clients.update(trained)


class TestCase(absltest.TestCase):
  """Comparisons of tensors."""

  def assert_close(self, actual, expected):
    for a, e in zip(actual, expected, strict=True):
      tolerance.assert_close(
        a, e, relative=tolerance.FLOAT32_STEPS, scale=np.abs(e).max() + 1
      )

  def assert_same(self, one, other):
    for a, b in zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True):
      np.testing.assert_array_equal(a, b)

  def check_follows(self, run, reference):
    """Rounds of some clients each, against a `PartiallyLocalReference`."""
    for cohort in COHORTS:
      metrics = run.run(cohort)
      reference.run(cohort)
      self.assert_close(run.server(), reference.server)
      for client in run.clients:
        self.assert_close(run.own(client), reference.own(client))
      self.assertEqual(metrics['client_work']['excluded_clients'], 0)
      self.assertEqual(
        metrics['client_work']['train']['num_examples'],
        run.epochs * sum(SIZES[c] for c in cohort),
      )
    # Or all clients would have the server's model.
    apart = [
      np.abs(a - b).max()
      for client in run.clients
      for a, b in zip(run.own(client), run.server())
    ]
    self.assertGreater(max(apart), 0.05)

  def check_leaves_out(self, run, without):
    """A diverged and an empty client change nothing, and keep their states."""
    for one in (run, without):
      one.run('abc')
    before = dict(run.clients)
    metrics = run.run('abcd', {'a': BROKEN, 'c': []})
    without.run('bd')
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assertEqual(
      metrics['client_work']['train']['num_examples'],
      run.epochs * (SIZES['b'] + SIZES['d']),
    )
    self.assert_same(run.state['model'], without.state['model'])
    for client in 'bd':
      self.assert_same(run.clients[client], without.clients[client])
    for client in 'ac':
      self.assert_same(run.clients[client], before[client])

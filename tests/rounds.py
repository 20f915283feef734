# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounds of any method over the same clients: by its process, and in NumPy."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import copy
import functools
from typing import Any

from fedfish_tff import algorithms
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

SIZES = {'a': 6, 'b': 9, 'c': 4, 'd': 13}
DATA = {c: ref.make_batches(n, n) for c, n in SIZES.items()}
# Some clients in each round, some of them again.
COHORTS = ('ab', 'cd', 'abc', 'bd', 'ab')
BROKEN = [(np.full_like(x, np.nan), y) for x, y in DATA['a'][:1]]
MODELS = {
  'functional': ref.create_functional_model(),
  'variable': ref.create_variable_model,
}
# The trainable tensors of the last layer, and all others.
HEAD = (False, False, True, True)
BODY = (True, True, False, False)


def sgd(rate: float, momentum: float | None = None):
  """Returns SGD, of clients or of the server."""
  return tff.learning.optimizers.build_sgdm(rate, momentum=momentum)


def create_regression():
  """Returns a linear model of two features with losses mean (x w - y)^2 / 2."""

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
  """A process with its state, and with those of its clients if it has some."""

  def __init__(self, process, *, epochs=1):
    self.process = process
    self.epochs = epochs
    self.state = process.initialize()
    self.clients = {}

  def copy(self):
    """Returns the same process in the same state, to go on another way."""
    other = copy.copy(self)
    other.clients = dict(self.clients)
    return other

  def run(self, cohort, data=None):
    """Runs a round and returns its metrics; `data` replaces that of clients."""
    data = DATA | (data or {})
    datasets = [ref.to_dataset(data[c], epochs=self.epochs) for c in cohort]
    if not isinstance(self.process, algorithms.ClientStateProcess):
      self.state, metrics = self.process.next(self.state, datasets)
      return metrics
    new_client = self.process.initialize_client(self.state)
    output = self.process.next(
      self.state, [self.clients.get(c, new_client) for c in cohort], datasets
    )
    self.state = output.state
    self.clients.update(zip(cohort, output.client_states, strict=True))
    return output.metrics

  def server(self):
    """Returns the weights of the server's model."""
    return tuple(self.process.get_model_weights(self.state).trainable)

  def own(self, client):
    """Returns the weights of a client's own model."""
    return tuple(
      self.process.client_model_weights(
        self.state, self.clients[client]
      ).trainable
    )

  def train_locally(self, weights, client):
    """Returns the weights that a client's local training ends with."""
    return self.process.local_training(
      weights, ref.to_dataset(DATA[client], epochs=self.epochs)
    ).trainable


def reference(
  start: Any,
  *,
  client_fn: Callable[..., tuple[Any, Any]],
  server_fn: Callable[[Any, Mapping[str, Any]], Any],
  cohorts: Sequence[str] = COHORTS,
  data: Mapping[str, Sequence[ref.Batch]] = DATA,
) -> Iterator[tuple[Any, Mapping[str, Any]]]:
  """Runs a method in NumPy, one client after another.

  Args:
    start: What the server has at first: weights, or weights and more.
    client_fn: Returns what a client sends and its new state, from what the
      server has, its old state (None when it comes for the first time) and its
      batches.
    server_fn: Returns what the server has next, from what it has and what was
      sent, by client.
    cohorts: The clients of each round.
    data: The batches of each client.

  Yields:
    What the server has after each round, and the clients' states.
  """
  server, states = start, {}
  for cohort in cohorts:
    sent = {}
    for c in cohort:
      sent[c], states[c] = client_fn(server, states.get(c), data[c])
    server = server_fn(server, sent)
    yield server, dict(states)


def count_examples(batches: Sequence[ref.Batch]) -> int:
  """Returns the number of a client's examples."""
  return sum(len(y) for _, y in batches)


def averaging(
  train: Callable[..., ref.Weights],
  *,
  server_rate: float = 1.0,
  uniform: bool = False,
) -> Mapping[str, Callable]:
  """Returns what clients and server do in methods like FedAvg, for `reference`.

  Args:
    train: Returns the weights that a client ends with, from those that it
      starts with and its batches.
    server_rate: The learning rate of the server's SGD.
    uniform: Whether all clients have the same weight, not their examples.
  """

  def client_fn(server, state, batches):
    weight = 1 if uniform else count_examples(batches)
    return (weight, train(server, batches)), state

  def server_fn(server, sent):
    weights, trained = zip(*sent.values())
    return tuple(
      w + server_rate * (np.average(ends, axis=0, weights=weights) - w)
      for w, ends in zip(server, zip(*trained))
    )

  return {'client_fn': client_fn, 'server_fn': server_fn}


def fed_avg(
  *,
  rate: float,
  epochs: int,
  server_rate: float = 1.0,
  uniform: bool = False,
  proximal_strength: float = 0.0,
) -> Mapping[str, Callable]:
  """Returns FedAvg, or FedProx, with SGD at clients and server."""
  return averaging(
    lambda weights, batches: ref.train(
      weights,
      batches,
      rate=rate,
      epochs=epochs,
      proximal_strength=proximal_strength,
    ),
    server_rate=server_rate,
    uniform=uniform,
  )


def fed_fish(
  *,
  rate: float,
  epochs: int,
  server_rate: float = 1.0,
  per_example: bool = False,
  mean: bool = False,
  by_tensor: bool = False,
  damping: float = 0.0,
  relative_damping: float = 0.0,
  uniform: bool = False,
) -> Mapping[str, Callable]:
  """Returns Algorithms 1 and 2 of FedFish, with the package's named choices."""

  def client_fn(server, state, batches):
    trained = ref.train(server, batches, rate=rate, epochs=epochs)
    fisher = ref.fisher(trained, batches, per_example=per_example)
    terms = count_examples(batches) if per_example else len(batches)
    weight = 1.0 if uniform else count_examples(batches)
    fisher = [np.float64(f) / (terms if mean else 1) for f in fisher]
    if by_tensor:
      fisher = [np.full_like(f, f.mean()) for f in fisher]
    level = np.concatenate([f.ravel() for f in fisher]).mean()
    factors = [
      weight * (f + damping + relative_damping * level) for f in fisher
    ]
    return (factors, trained), state

  server_fn = functools.partial(step_by_ratios, server_rate=server_rate)
  return {'client_fn': client_fn, 'server_fn': server_fn}


def step_by_ratios(
  server: ref.Weights, sent: Mapping[str, Any], *, server_rate: float = 1.0
) -> ref.Weights:
  """Steps by quotients of sums, element by element; by 0 where factors are 0.

  Args:
    server: The server's tensors.
    sent: By client, the factors of the tensors and the client's tensors.
    server_rate: The learning rate of the server's SGD.
  """
  result = []
  for i, start in enumerate(server):
    start = np.float64(start)
    numerator = sum(f[i] * (start - end[i]) for f, end, *_ in sent.values())
    denominator = sum(f[i] for f, *_ in sent.values())
    ratio = numerator / np.where(denominator > 0, denominator, 1)
    result.append(start - server_rate * ratio)
  return tuple(result)


def partially_local(
  train: Callable[..., ref.Weights],
  *,
  local: Sequence[bool] = HEAD,
  **kwargs: Any,
) -> Mapping[str, Callable]:
  """Returns `averaging` where clients keep some tensors, which are their state.

  Args:
    train: Returns the weights that a client ends with.
    local: Which tensors clients keep.
    **kwargs: Those of `averaging`.
  """
  average = averaging(lambda trained, _: trained, **kwargs)

  def client_fn(server, state, batches):
    kept = iter(state or [w for w, t in zip(server, local) if t])
    start = [next(kept) if t else w for w, t in zip(server, local)]
    trained = train(start, batches)
    sent, _ = average['client_fn'](trained, None, batches)
    return sent, [w for w, t in zip(trained, local) if t]

  def server_fn(server, sent):
    average_of_all = average['server_fn'](server, sent)
    return tuple(
      w if t else a for w, a, t in zip(server, average_of_all, local)
    )

  return {'client_fn': client_fn, 'server_fn': server_fn}


class TestCase(parameterized.TestCase):
  """Comparisons of tensors, and of rounds."""

  def assert_close(self, actual, expected):
    # Sums in another order, as often as there are steps in these tests.
    tolerance.assert_all_close(
      actual, expected, relative=2 * tolerance.FLOAT32_SUMS, least_scale=1.0
    )

  def assert_same(self, one, other):
    tolerance.assert_same(one, other)

  def check_equals(self, run, process, *, data=None, cohorts=COHORTS[:3]):
    """Runs rounds of two methods; they must have one model and one loss.

    Args:
      run: A `Rounds`.
      process: The other method, for the same epochs.
      data: The data in place of that of clients.
      cohorts: The clients of each round.
    """
    self._check_equals(self.assert_close, run, process, data, cohorts)

  def check_same(self, run, process, *, cohorts=COHORTS[:3]):
    """Runs rounds as `check_equals`; the results must be the same bit for bit."""
    self._check_equals(self.assert_same, run, process, None, cohorts)

  def _check_equals(self, check, run, process, data, cohorts):
    other = Rounds(process, epochs=run.epochs)
    for cohort in cohorts:
      metrics, expected = (
        r.run(cohort, data)['client_work']['train'] for r in (run, other)
      )
      check(run.server(), other.server())
      check([metrics[name] for name in expected], list(expected.values()))

  def check_follows(self, run, expected, *, server=Rounds.server, client=None):
    """Runs the rounds of COHORTS, and compares what there is after each.

    Args:
      run: A `Rounds`.
      expected: What `reference` yields.
      server: Returns what the server has, as the reference has it.
      client: Returns a client's state as the reference has it, from `run` and
        the client; by default the state itself.
    """
    if client is None:

      def client(run, c):
        return run.clients[c]

    for cohort, (expected_server, states) in zip(COHORTS, expected):
      run.run(cohort)
      self.assert_close(
        tf.nest.flatten(server(run)), tf.nest.flatten(expected_server)
      )
      for c in run.clients:
        self.assert_close(
          tf.nest.flatten(client(run, c)), tf.nest.flatten(states[c])
        )
    if run.clients:
      # Or else a state that all clients share would pass.
      a, b = (tf.nest.flatten(client(run, c)) for c in 'ab')
      self.assertGreater(max(np.abs(x - y).max() for x, y in zip(a, b)), 0.05)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedMA against networks in NumPy that have the shapes they need, and limits."""

import functools
from unittest import mock

from fedfish_tff import aggregators
from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff import simulation
from tasks import networks
from tests import tolerance
from tests import training_runs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
from sklearn import datasets as sklearn_datasets
import tensorflow as tf
import tensorflow_federated as tff

_SEED, _RATE, _LAST_RATE, _MOMENTUM, _EPOCHS = 4, 0.2, 0.05, 0.9, 2
_FEATURES, _CLASSES, _WIDTHS, _MAX_WIDTHS = 4, 3, (6, 5), (8, 10)
_TOKENS, _LSTM_WIDTHS = 9, (4, 5)
_SIZES = {'a': 9, 'b': 12, 'c': 7, 'd': 10}
_DATA = datasets.InMemoryClientData(
  {
    client: (
      np.random.default_rng(size)
      .normal(size=[size, _FEATURES])
      .astype(np.float32),
      np.random.default_rng(size).integers(0, _CLASSES, size, np.int32),
    )
    for client, size in _SIZES.items()
  }
)
_SPEC = datasets.BatchSpec(batch_size=4, epochs=_EPOCHS)


def _create_mlp(widths, seed):
  return models.create_mlp_classifier(
    num_features=_FEATURES,
    num_classes=_CLASSES,
    hidden_units=widths,
    seed=seed,
  )


def _create_lenet5(widths, seed):
  return networks.create_lenet5(
    input_shape=(17, 20, 2),
    num_classes=_CLASSES,
    seed=seed,
    filters=widths[:2],
    hidden_units=widths[2:],
  )


def _create_lstm(widths, seed):
  embedding_size, lstm_size = widths
  return networks.create_character_lstm(
    vocabulary_size=_TOKENS,
    seed=seed,
    embedding_size=embedding_size,
    lstm_size=lstm_size,
  )


def _draw(*shape):
  x = np.random.default_rng(2).normal(size=shape).astype(np.float32)
  return x, np.arange(len(x), dtype=np.int32) % _CLASSES


def _draw_tokens(rows):
  """Examples of `_create_lstm`, with padding at the end of some."""
  rng = np.random.default_rng(rows)
  tokens = rng.integers(1, _TOKENS, [rows, 7], np.int32)
  x, y = tokens[:, :-1].copy(), tokens[:, 1:].copy()
  x[::3, 4:] = y[::3, 4:] = 0
  return x, y


_TOKEN_DATA = datasets.InMemoryClientData(
  {client: _draw_tokens(size) for client, size in _SIZES.items()}
)


def _with_weights(model, tensors):
  """The model with other initial weights."""
  return models.partition_model(
    model,
    [True] * len(tensors),
    start=tff.learning.models.ModelWeights(tuple(tensors), ()),
  ).model


def _shuffled(create, widths, seed):
  """A network that is the same for all seeds, but for the order of its units."""
  model = create(widths, 11)
  rng = np.random.default_rng(11)
  tensors = [  # Biases too: they are zero else.
    np.asarray(w) if w.ndim > 1 else rng.normal(size=w.shape).astype(np.float32)
    for w in map(np.asarray, model.initial_weights[0])
  ]
  rng = np.random.default_rng(seed)
  for width, outputs, inputs in algorithms.find_hidden_layers(model):
    order = rng.permutation(width)
    for place in outputs:
      tensors[place] = aggregators.take_units(tensors[place], order, width)
    for place in inputs:
      tensors[place] = aggregators.take_units(
        tensors[place], order, width, axis=-2
      )
  return _with_weights(model, tensors)


def _build(create=_create_mlp, *, widths=_WIDTHS, rate=_RATE, **kwargs):
  return algorithms.build_fed_ma(
    create,
    tff.learning.optimizers.build_sgdm(rate),
    widths=widths,
    seed=_SEED,
    local_epochs=_EPOCHS,
    **kwargs,
  )


def _load(client_id, round_number=1, data=_DATA):
  return datasets.plan_batches(
    data.load_client(client_id),
    _SPEC,
    client_id=client_id,
    seed=_SEED,
    round_number=round_number,
  )


def _run(process, state, client_states, cohort):
  new_client = process.initialize_client(state)
  output = process.next(
    state,
    [client_states.get(b.client_id, new_client) for b in cohort],
    cohort,
  )
  client_states = client_states | dict(
    zip((b.client_id for b in cohort), output.client_states, strict=True)
  )
  return output.state, client_states, output.metrics


def _predict(model, weights, x):
  return np.asarray(
    model.predict_on_batch((tuple(weights), ()), x, training=False)
  )


class ArgumentsTest(absltest.TestCase):
  def test_out_of_range(self):
    usual = {'widths': _WIDTHS, 'seed': _SEED, 'local_epochs': _EPOCHS}
    for name, value in (('local_epochs', 0), ('seed', -1)):
      with self.assertRaisesRegex(errors.InputError, f'{name} .*got {value}'):
        algorithms.build_fed_ma(
          _create_mlp,
          tff.learning.optimizers.build_sgdm(_RATE),
          **(usual | {name: value}),
        )


class LimitsTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('perceptron', _create_mlp, _WIDTHS, *_draw(20, _FEATURES)),
    ('lenet5', _create_lenet5, (3, 4, 5, 4), *_draw(6, 17, 20, 2)),
    ('lstm', _create_lstm, _LSTM_WIDTHS, *_draw_tokens(20)),
  )
  @pytest.mark.thorough
  def test_without_training_a_network_stays(self, create, widths, x, y):
    """One client, and clients that are permutations of it."""
    process = _build(
      functools.partial(_shuffled, create), widths=widths, rate=0.0, gamma=1e-3
    )
    wide = create([2 * w for w in widths], 0)
    data = datasets.InMemoryClientData({c: (x, y) for c in 'abc'})
    model = _shuffled(create, widths, 0)
    expected = _predict(model, model.initial_weights[0], x)
    for cohort in ('a', 'abc'):
      state, client_states = process.initialize(), {}
      for _ in range(2):
        state, client_states, metrics = _run(
          process, state, client_states, [_load(c, data=data) for c in cohort]
        )
        tolerance.assert_close(
          _predict(wide, process.get_model_weights(state).trainable, x),
          expected,
        )
        self.assertEqual(
          [layer['units'] for layer in metrics['fed_ma'].values()],
          list(widths),
        )
    # That of all together is none of theirs as it was.
    places = [np.concatenate(client_states[c]['units']) for c in 'abc']
    self.assertFalse(np.array_equal(places[0], places[1]))

  @pytest.mark.thorough
  def test_merges_in_one_round_what_averaging_destroys(self):
    """Networks of handwritten digits, from clients that have trained apart."""
    x, y = sklearn_datasets.load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    x, y = np.float32(x / 16)[order], np.int32(y)[order]
    parts = datasets.partition_by_dirichlet(
      y[:1400], num_clients=4, alpha=0.5, seed=0, min_examples=20
    )
    data = datasets.InMemoryClientData(
      {c: (x[part], y[part]) for c, part in zip('abcd', parts)}
    )
    cohort = [
      datasets.plan_batches(
        data.load_client(c),
        datasets.BatchSpec(batch_size=10, epochs=20),
        client_id=c,
        seed=0,
        round_number=1,
      )
      for c in 'abcd'
    ]

    def create(widths, seed):
      return models.create_mlp_classifier(
        num_features=64, num_classes=10, hidden_units=widths, seed=seed
      )

    process = _build(create, widths=(50,), rate=0.1)
    state, _, _ = _run(process, process.initialize(), {}, cohort)

    def accuracy(weights):
      found = _predict(create((100,), 0), weights, x[1400:])
      return np.mean(np.argmax(found, axis=1) == y[1400:])

    merged = accuracy(process.get_model_weights(state).trainable)
    average = [np.float32(0)] * 4
    for position, batches in enumerate(cohort):
      seed = int(np.random.default_rng([_SEED, position]).integers(2**31))
      k1, b1, k2, b2 = map(np.asarray, create((50,), seed).initial_weights[0])
      start = (
        np.pad(k1, ((0, 0), (0, 50))),
        np.pad(b1, (0, 50)),
        np.pad(k2, ((0, 50), (0, 0))),
        b2,
      )
      trained = process.local_training(
        tff.learning.models.ModelWeights(start, ()), batches
      )
      average = [a + t / 4 for a, t in zip(average, trained.trainable)]
    self.assertGreater(merged, accuracy(average) + 0.1)

  def test_equal_clients_are_one(self):
    process = _build(lambda widths, _: _create_mlp(widths, 11), gamma=1e-3)
    one, two = (
      _run(process, process.initialize(), {}, [_load('a')] * n)[0]
      for n in (1, 2)
    )
    tolerance.assert_all_close(
      one['trainable'], two['trainable'], relative=tolerance.FLOAT32_STEPS
    )


class _Reference:
  """Perceptrons of exactly the units that they have, in float64."""

  def __init__(self):
    self.server, self.counts, self.passes = None, None, 0
    self.clients = {}

  def forward(self, net, x):
    activations = [np.float64(x)]
    for layer, (kernel, bias) in enumerate(net):
      x = activations[-1] @ kernel + bias
      activations.append(np.maximum(x, 0) if layer < len(net) - 1 else x)
    return activations

  def train(self, net, batches, first, rate):
    velocity = [[np.zeros_like(t) for t in layer] for layer in net]
    for x, y in batches:
      activations = self.forward(net, x)
      p = np.exp(activations[-1])
      p /= p.sum(axis=1, keepdims=True)
      back = (p - np.eye(_CLASSES)[y]) / len(y)
      net = list(net)
      for layer in reversed(range(first, len(net))):
        kernel, bias = net[layer]
        gradient = activations[layer].T @ back, back.sum(axis=0)
        back = back @ kernel.T * (activations[layer] > 0)
        velocity[layer] = [
          _MOMENTUM * v + g for v, g in zip(velocity[layer], gradient)
        ]
        net[layer] = [
          t - rate * v for t, v in zip((kernel, bias), velocity[layer])
        ]
    return net

  def rebuild(self, units):
    net = [list(layer) for layer in self.server]
    for layer, own in enumerate(units):
      net[layer] = [t[..., own] for t in net[layer]]
      net[layer + 1][0] = net[layer + 1][0][own]
    return net

  def units(self, client):
    passes, units = self.clients.get(client, (0, None))
    if passes == self.passes:
      return units
    return [
      sorted(range(len(c)), key=lambda i, c=c: (-c[i], i))[:width]
      for c, width in zip(self.counts, _WIDTHS)
    ]

  def start(self, client, position):
    if self.passes:
      return self.rebuild(self.units(client))
    stream = np.random.default_rng([_SEED, position])
    weights = _create_mlp(_WIDTHS, int(stream.integers(2**31))).initial_weights
    weights = [np.float64(w) for w in weights[0]]
    return [list(layer) for layer in zip(weights[::2], weights[1::2])]

  def run(self, cohort):
    """Takes batches by client."""
    nets = [self.start(c, i) for i, c in enumerate(cohort)]
    server, counts, assignments = [], [], []
    for layer in range(len(_WIDTHS) + 1):
      last = layer == len(_WIDTHS)
      rate = _LAST_RATE if last else _RATE
      nets = [
        self.train(net, batches, layer, rate)
        for net, batches in zip(nets, cohort.values())
      ]
      own = [net[layer] for net in nets]
      if last:
        labels = [
          np.bincount(np.concatenate([y for _, y in b]), minlength=_CLASSES)
          for b in cohort.values()
        ]
        server.append(aggregators.average_last_layer(*zip(*own), labels))
        break
      match = aggregators.match_units(
        [aggregators.unit_rows(t, _WIDTHS[layer]) for t in own],
        np.random.default_rng([_SEED, self.passes, layer]),
        max_units=_MAX_WIDTHS[layer],
      )
      server.append(
        aggregators.unit_tensors(match.rows, own[0], _WIDTHS[layer])
      )
      counts.append(match.counts)
      assignments.append(match.assignments)
      for net, units in zip(nets, match.assignments):
        net[layer] = server[-1]
        net[layer + 1] = [
          aggregators.pad_units(
            net[layer + 1][0], units, len(counts[-1]), axis=-2
          ),
          net[layer + 1][1],
        ]
    self.server, self.counts = server, counts
    self.passes += 1
    for i, client in enumerate(cohort):
      self.clients[client] = (self.passes, [list(a[i]) for a in assignments])


class FedMaTest(training_runs.TestCase):
  SIZES = _SIZES
  SPEC = _SPEC

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.process = algorithms.build_fed_ma(
      _create_mlp,
      tff.learning.optimizers.build_sgdm(_RATE, momentum=_MOMENTUM),
      widths=_WIDTHS,
      max_widths=_MAX_WIDTHS,
      seed=_SEED,
      local_epochs=_EPOCHS,
      last_layer_optimizer_fn=tff.learning.optimizers.build_sgdm(
        _LAST_RATE, momentum=_MOMENTUM
      ),
    )

  def assert_same(self, one, other):
    tolerance.assert_same(
      [*one['trainable'], *one['counts'], one['num_rounds']],
      [*other['trainable'], *other['counts'], other['num_rounds']],
    )

  def test_rounds_are_those_of_networks_that_change_their_shapes(self):
    """Also with clients that are new, or were not in the round before."""
    reference = _Reference()
    state, client_states = self.process.initialize(), {}
    x = np.random.default_rng(5).normal(size=[20, _FEATURES])
    wide = _create_mlp(_MAX_WIDTHS, 0)
    for round_number, cohort in enumerate(('abc', 'abc', 'ad', 'bad'), 1):
      loaded = [_load(c, round_number) for c in cohort]
      state, client_states, metrics = _run(
        self.process, state, client_states, loaded
      )
      reference.run({b.client_id: list(b) for b in loaded})
      self.assertEqual(state['num_rounds'], round_number)
      parts = [slice(len(c)) for c in reference.counts]
      outputs = [*parts, slice(None)]
      inputs = [slice(None), *parts]
      for layer, tensors in enumerate(reference.server):
        for found, expected, used in zip(
          state['trainable'][2 * layer : 2 * layer + 2],
          tensors,
          ((inputs[layer], outputs[layer]), (outputs[layer],)),
        ):
          whole = np.zeros_like(found)
          whole[used] = expected
          tolerance.assert_close(found, whole, relative=tolerance.FLOAT32_STEPS)
          whole[used] = found[used]
          np.testing.assert_array_equal(found, whole)  # Zeros, exactly.
      for layer, counts in enumerate(reference.counts):
        np.testing.assert_array_equal(
          state['counts'][layer],
          np.pad(counts, (0, _MAX_WIDTHS[layer] - len(counts))),
        )
        self.assertEqual(
          dict(metrics['fed_ma'][f'layer_{layer}']),
          {'units': len(counts), 'of_one_client': np.sum(counts == 1)},
        )
      for client, client_state in client_states.items():
        weights = self.process.client_model_weights(state, client_state)
        net = reference.rebuild(reference.units(client))
        tolerance.assert_close(
          _predict(wide, weights.trainable, np.float32(x)),
          reference.forward(net, x)[-1],
          relative=tolerance.FLOAT32_STEPS,
        )
    self.assertGreater(len(reference.counts[0]), _WIDTHS[0])

  @pytest.mark.thorough
  def test_networks_that_clients_train_apart(self):
    reference = _Reference()
    loaded = [_load(c) for c in 'ab']
    found = self.process.train_apart(loaded)
    x = np.random.default_rng(5).normal(size=[20, _FEATURES])
    model = _create_mlp(_WIDTHS, 0)
    for position, (batches, tensors) in enumerate(
      zip(loaded, found, strict=True)
    ):
      start = reference.start(batches.client_id, position)
      net = reference.train(start, list(batches), 0, _RATE)
      tolerance.assert_close(
        _predict(model, tensors, np.float32(x)),
        reference.forward(net, x)[-1],
        relative=tolerance.FLOAT32_STEPS,
      )

  def test_leaves_out_who_diverges(self):
    data = datasets.InMemoryClientData(
      {
        'x': (
          _DATA.load_client('a')[0][:5] * np.float32(1e30),
          np.array([0, 1, 2, 0, 1], np.int32),
        ),
      }
    )
    good = [_load(c) for c in 'ab']
    empty = datasets.ClientBatches(
      client_id='empty',
      examples=_DATA.load_client('c'),
      indices=np.zeros(0, np.int64),
      epochs=1,
      batch_size=4,
    )
    broken = [_load('x', data=data), empty]
    start = self.process.initialize()
    expected, _, expected_metrics = _run(self.process, start, {}, good)
    state, client_states, metrics = _run(self.process, start, {}, good + broken)
    self.assert_same(state, expected)
    self.assertEqual(
      [client_states[c]['num_rounds'] for c in ('a', 'b', 'x', 'empty')],
      [1, 1, 0, 0],
    )
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assertEqual(
      metrics['client_work']['train'], expected_metrics['client_work']['train']
    )
    for cohort in ([], broken):
      state, _, metrics = _run(self.process, expected, {}, cohort)
      self.assert_same(state, expected)

  def test_who_diverges_late_has_no_say_in_earlier_layers(self):
    start = self.process.initialize()
    expected, _, _ = _run(self.process, start, {}, [_load(c) for c in 'ab'])
    first, second, *rest = self.process._train

    def diverge(tensors, client_data):
      results = second(tensors, client_data)
      if len(results) == 3:
        results[2]['finite'] = np.bool_(False)
      return results

    with mock.patch.object(self.process, '_train', [first, diverge, *rest]):
      state, client_states, metrics = _run(
        self.process, start, {}, [_load(c) for c in 'abc']
      )
    self.assert_same(state, expected)
    self.assertEqual(client_states['c']['num_rounds'], 0)
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)

  def test_a_stopped_run_resumes_as_if_it_never_stopped(self):
    def run(name, rounds):
      folder = self.folder / name
      folder.mkdir(exist_ok=True)
      self.run_training(
        self.process,
        folder,
        train_data=_DATA,
        participation=simulation.uniform_participation(
          _SIZES, cohort_size=3, seed=_SEED
        ),
        rounds=rounds,
        checkpoint_every=1,
        client_states=simulation.ClientStateStore(folder / 'clients'),
        hooks=[
          simulation.CommunicationCosts(
            simulation.measure_wire_bytes(self.process)
          )
        ],
      )
      return self.rows(folder)

    whole = run('whole', 4)
    run('parts', 2)
    self.assertEqual(run('parts', 4), whole)
    last = whole[-1]
    # Two trainings more than FedAvg's one.
    steps = sum(-(-size // 4) for size in _SIZES.values()) * _EPOCHS * 3
    self.assertLess(last['compute/local_steps'], steps)
    self.assertGreater(last['compute/local_steps'], steps / 2)
    self.assertIn('fed_ma/layer_1/units', last)

  def test_bytes_are_those_of_the_layers(self):
    def layer(inputs, units):
      return inputs * units + units

    matched = layer(4, 8) + layer(8, 10)
    metrics = 4 * 2 + 4 * 2 + 8  # Loss and accuracy with their weights.
    self.assertEqual(
      simulation.measure_wire_bytes(self.process),
      simulation.WireBytes(
        download=4 * (2 * matched + layer(10, 3) + 6 + 5),
        upload=4 * (layer(4, 6) + layer(8, 5) + layer(10, 3) + 3) + metrics + 3,
      ),
    )


def _train_lstm(net, batches, first):
  """Trains the tensors from `first` on; there are no other units."""
  model = _create_lstm((net[0].shape[1], len(net[2])), 0)
  net = list(map(tf.constant, net))
  for x, y in batches:
    with tf.GradientTape() as tape:
      tape.watch(net)
      loss = model.loss(model.predict_on_batch((net, ()), x, training=True), y)
    gradients = tape.gradient(loss, net)
    for place in range(first, len(net)):
      net[place] -= _RATE * tf.convert_to_tensor(gradients[place])
  return [tensor.numpy() for tensor in net]


_GAMMA = 4.0


class LstmTest(absltest.TestCase):
  def _check_function(self, weights, net):
    x, _ = _draw_tokens(20)
    tolerance.assert_close(
      _predict(_create_lstm((8, 10), 0), weights, x),
      _predict(_create_lstm((net[0].shape[1], len(net[2])), 0), net, x),
      relative=tolerance.FLOAT32_STEPS,
    )

  @pytest.mark.thorough
  def test_rounds_are_those_of_networks_that_change_their_shapes(self):
    process = _build(_create_lstm, widths=_LSTM_WIDTHS, gamma=_GAMMA)
    state, client_states, nets = process.initialize(), {}, []
    for position in range(3):
      stream = np.random.default_rng([_SEED, position])
      model = _create_lstm(_LSTM_WIDTHS, int(stream.integers(2**31)))
      nets.append([np.asarray(t) for t in model.initial_weights[0]])
    for passes in range(2):
      cohort = [_load(c, passes, _TOKEN_DATA) for c in 'abc']
      state, client_states, _ = _run(process, state, client_states, cohort)
      batches = [list(b) for b in cohort]
      matches = []
      # Embedding: its table, heard by the LSTM's kernel. LSTM: kernel and bias.
      for layer, (places, following) in enumerate((((0,), 1), ((1, 3), 4))):
        width = _LSTM_WIDTHS[layer]
        nets = [_train_lstm(n, b, places[0]) for n, b in zip(nets, batches)]
        match = aggregators.match_units(
          [aggregators.unit_rows([n[p] for p in places], width) for n in nets],
          np.random.default_rng([_SEED, passes, layer]),
          num_biases=4 * layer,
          gamma=_GAMMA,
          max_units=2 * width,
        )
        num_units = len(match.counts)
        merged = aggregators.unit_tensors(
          match.rows, [nets[0][p] for p in places], width
        )
        recurrent = layer and aggregators.average_recurrent(
          [net[2] for net in nets], match.assignments, num_units
        )
        for net, own in zip(nets, match.assignments):
          for place, tensor in zip(places, merged):
            net[place] = tensor
          if layer:
            net[2] = recurrent
          net[following] = aggregators.pad_units(
            net[following], own, num_units, axis=-2
          )
        matches.append(match)
        np.testing.assert_array_equal(
          state['counts'][layer],
          np.pad(match.counts, (0, 2 * width - num_units)),
        )
      nets = [_train_lstm(net, b, 4) for net, b in zip(nets, batches)]
      server = nets[0][:4]
      server += [np.mean([net[p] for net in nets], axis=0) for p in (4, 5)]
      self._check_function(process.get_model_weights(state).trainable, server)
      self.assertGreater(len(server[2]), _LSTM_WIDTHS[1])
      wide = algorithms.find_hidden_layers(_create_lstm((8, 10), 0))
      for (width, outputs, _), counts in zip(
        wide, state['counts'], strict=True
      ):
        (unused,) = np.nonzero(counts == 0)
        self.assertNotEmpty(unused)
        for place in outputs:
          found = aggregators.take_units(
            state['trainable'][place], unused, width
          )
          self.assertFalse(np.any(found))
      for position, client in enumerate('abc'):
        a, b = (match.assignments[position] for match in matches)
        num_units = len(server[2])
        of_own = [aggregators.take_units(t, b, num_units) for t in server[1:4]]
        net = [
          server[0][:, a],
          of_own[0][a],
          of_own[1][b],
          of_own[2],
          server[4][b],
          server[5],
        ]
        nets[position] = net
        weights = process.client_model_weights(state, client_states[client])
        self._check_function(weights.trainable, net)

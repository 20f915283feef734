# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Matching against all assignments there are, and networks that stay the same."""

import itertools
from unittest import mock

from fedfish_tff import aggregators
from fedfish_tff import choices
from fedfish_tff import errors
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
from scipy import optimize


def _match(rows, **kwargs):
  return aggregators.match_units(rows, np.random.default_rng(0), **kwargs)


def _prior_mean(width, num_biases):
  return np.array([0.0] * (width - num_biases) + [0.1] * num_biases)


class MatchUnitsTest(parameterized.TestCase):
  @hypothesis.settings(max_examples=60)
  @hypothesis.given(
    seed=st.integers(0, 2**32 - 1),
    num_clients=st.sampled_from([2, 3, 5, 13]),
    num_biases=st.integers(0, 2),
    scale=st.sampled_from([0.3, 1.0, 3.0]),
    settings=st.fixed_dictionaries(
      {
        'gamma': st.sampled_from([1e-3, 1.0, 7.0]),
        'sigma': st.sampled_from([0.5, 1.0]),
        'sigma0': st.sampled_from([1.0, 3.0]),
      }
    ),
    max_units=st.sampled_from([2, 4, 700]),
  )
  def test_the_last_client_is_placed_as_well_as_can_be(
    self, seed, num_clients, num_biases, scale, settings, max_units
  ):
    rng = np.random.default_rng(seed)
    base = scale * rng.normal(size=[3, 4])
    rows = [
      rng.permutation(base)[: rng.integers(1, 4)] for _ in range(num_clients)
    ]
    rows = [r + 0.2 * scale * rng.normal(size=r.shape) for r in rows]
    with mock.patch.object(
      optimize, 'linear_sum_assignment', wraps=optimize.linear_sum_assignment
    ) as assign:
      result = _match(
        rows, sweeps=0, max_units=max_units, num_biases=num_biases, **settings
      )
    # The widest come first, and of equals the first.
    *others, last = sorted(range(num_clients), key=lambda j: (-len(rows[j]), j))
    size = len(rows[last])
    before = np.concatenate([result.assignments[j] for j in others])
    known = before.max() + 1
    num_new = min(size, max(max_units - known, size - known, 0))
    prior = _prior_mean(4, num_biases)
    sigma, sigma0, gamma = (settings[k] for k in ('sigma', 'sigma0', 'gamma'))

    def objective(units):
      """Returns the maximised sum, with some of the last client's units."""
      value = 0.0
      for i in range(known + num_new):
        placed = [(rows[j], result.assignments[j]) for j in others]
        placed.append((rows[last], units))
        own = [r[k] for r, a in placed for k in range(len(r)) if a[k] == i]
        g = prior / sigma0 + np.sum(own, axis=0) / sigma
        value += np.sum(g**2) / (1 / sigma0 + len(own) / sigma)
      for i in filter(lambda i: i is not None, units):
        if i < known:
          count = min(np.count_nonzero(before == i), 10)
          value += np.log(count / (num_clients - count))
        else:
          value += 2 * np.log(gamma / num_clients) - 2 * np.log(i - known + 1)
      return value

    nothing = [None] * size
    scores = [
      [
        objective([*nothing[:k], i, *nothing[k + 1 :]]) - objective(nothing)
        for i in range(known + num_new)
      ]
      for k in range(size)
    ]
    np.testing.assert_allclose(assign.call_args.args[0], scores, atol=1e-8)
    if known <= 5:
      self.assertAlmostEqual(
        objective(result.assignments[last]),
        max(
          objective(units)
          for units in itertools.permutations(range(known + num_new), size)
        ),
      )
    np.testing.assert_array_equal(
      result.counts, np.bincount(np.concatenate(result.assignments))
    )

  @parameterized.parameters(*choices.UnitAverage)
  def test_rows_are_the_average_of_what_was_matched(self, average):
    rng = np.random.default_rng(1)
    base = 2 * rng.normal(size=[6, 5])
    rows = [
      rng.permutation(base)[:n] + 0.1 * rng.normal(size=[n, 5])
      for n in (4, 6, 5, 4)
    ]
    result = _match(rows, average=average, sigma=0.5, sigma0=2.0)
    self.assertGreater(len(set(result.counts)), 1)  # Some units are shared.
    for i, (row, count) in enumerate(zip(result.rows, result.counts)):
      own = [r[a == i][0] for r, a in zip(rows, result.assignments) if i in a]
      self.assertLen(own, count)
      expected = np.mean(own, axis=0)
      if average is choices.UnitAverage.OVER_ALL:
        expected = np.sum(own, axis=0) / 4
      if average is choices.UnitAverage.POSTERIOR_MEAN:
        expected = (_prior_mean(5, 1) / 2 + np.sum(own, axis=0) / 0.5) / (
          1 / 2 + count / 0.5
        )
      np.testing.assert_allclose(row, expected, rtol=1e-12)

  def test_there_are_no_more_units_than_allowed_or_a_client_has(self):
    # Where new units cost nothing, all are new.
    rows = list(10 * np.random.default_rng(2).normal(size=[4, 4, 3]))
    sizes = [
      len(_match(rows[:n], gamma=1e200, max_units=6).counts)
      for n in (1, 2, 3, 4)
    ]
    self.assertEqual(sizes, [4, 6, 6, 6])
    self.assertLen(_match(rows[:1], max_units=3).counts, 4)

  def test_is_a_function_of_the_generator(self):
    rows = list(np.random.default_rng(3).normal(size=[5, 8, 4]))
    results = [
      aggregators.match_units(rows, np.random.default_rng(seed))
      for seed in (7, 7, 8, 9)
    ]
    np.testing.assert_array_equal(results[0].rows, results[1].rows)
    self.assertTrue(
      any(not np.array_equal(results[0].rows, r.rows) for r in results[2:])
    )

  @parameterized.parameters(
    ([],),
    ([np.zeros([2, 3]), np.zeros([2, 4])],),
    ([np.zeros(3)],),
    ([np.zeros([2, 3]), np.full([2, 3], np.nan)],),
  )
  def test_refuses_what_cannot_be_matched(self, rows):
    with self.assertRaisesRegex(errors.InputError, '^rows '):
      _match(rows)


# Networks are lists of layers by name of tensor, in the order of the passes.


def _layer(rng, *shape, units, gates=1, bias=True, recurrent=False):
  layer = {'kernel': rng.normal(size=[*shape, gates * units])}
  if recurrent:
    layer['recurrent'] = rng.normal(size=[units, gates * units])
  if bias:
    layer['bias'] = rng.normal(size=[gates * units])
  return {name: t.astype(np.float32) for name, t in layer.items()}


def _dense_network(rng):
  return [
    _layer(rng, 4, units=7),
    _layer(rng, 7, units=6),
    _layer(rng, 6, units=3),
  ]


def _convolutional_network(rng):
  return [
    _layer(rng, 3, 3, 2, units=5),
    _layer(rng, 2, 3, 5, units=4),
    _layer(rng, 4 * 2 * 4, units=6),
    _layer(rng, 6, units=3),
  ]


def _lstm_network(rng):
  return [
    _layer(rng, 9, units=4, bias=False),
    _layer(rng, 4, units=5, gates=4, recurrent=True),
    _layer(rng, 5, units=3),
  ]


def _run_dense(network, x):
  for layer in network[:-1]:
    x = np.maximum(x @ layer['kernel'] + layer['bias'], 0)
  return x @ network[-1]['kernel'] + network[-1]['bias']


def _run_convolutional(network, x):
  for layer in network[:2]:
    size = layer['kernel'].shape[:2]
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=(1, 2))
    x = np.einsum('bhwckl,klco->bhwo', windows, layer['kernel'])
    x = np.maximum(x + layer['bias'], 0)
  return _run_dense(network[2:], x.reshape(len(x), -1))


def _run_lstm(network, tokens):
  embedding, lstm, output = network
  state = cell = np.zeros([len(tokens), len(lstm['recurrent'])])
  for column in tokens.T:
    gates = embedding['kernel'][column] @ lstm['kernel'] + lstm['bias']
    gates = gates + state @ lstm['recurrent']
    let_in, keep, new, let_out = np.split(gates, 4, axis=1)
    cell = cell / (1 + np.exp(-keep)) + np.tanh(new) / (1 + np.exp(-let_in))
    state = np.tanh(cell) / (1 + np.exp(-let_out))
  return _run_dense([output], state)


# How networks are made, how they are run, and on what.
_NETWORKS = {
  'dense': (_dense_network, _run_dense, lambda rng: rng.normal(size=[20, 4])),
  'convolutional': (
    _convolutional_network,
    _run_convolutional,
    lambda rng: rng.normal(size=[5, 7, 6, 2]),
  ),
  'lstm': (
    _lstm_network,
    _run_lstm,
    lambda rng: rng.integers(0, 9, size=[8, 6]),
  ),
}


def _num_units(layer):
  if 'recurrent' in layer:
    return len(layer['recurrent'])
  return layer['kernel'].shape[-1]


def _repeat(order, num_units, times):
  """Positions of units in `times` lists of all, one after the other."""
  return np.concatenate([k * num_units + order for k in range(times)])


def _silence(network):
  """Lets nobody listen to the last unit of any layer but the last."""
  for layer, following in itertools.pairwise(network):
    units = _num_units(layer)
    if 'recurrent' in layer:
      layer['recurrent'][-1] = 0
    following['kernel'][..., units - 1 :: units, :] = 0
  return network


def _shuffle(network, rng, *, leave_out=0):
  """The network with the units of all layers but the last shuffled.

  The `leave_out` last ones are not in it.
  """
  order, units = None, 0
  shuffled = []
  for position, layer in enumerate(network):
    layer = dict(layer)
    kernel = layer['kernel']
    if order is not None:
      inputs = _repeat(order, units, kernel.shape[-2] // units)
      layer['kernel'] = kernel[..., inputs, :]
    if position < len(network) - 1:
      units = _num_units(layer)
      order = rng.permutation(units - leave_out)
      if 'recurrent' in layer:
        layer['recurrent'] = layer['recurrent'][order]
      columns = _repeat(order, units, kernel.shape[-1] // units)
      layer = {name: t[..., columns] for name, t in layer.items()}
    shuffled.append(layer)
  return shuffled


def _merge(networks, class_counts, **kwargs):
  """FedMA without training, and the matches of each layer but the last."""
  merged, matches = [], []
  layers = list(zip(*networks))
  for position, clients in enumerate(layers):
    if matches:
      assignments, counts = matches[-1].assignments, matches[-1].counts
      clients = [
        {
          **layer,
          'kernel': aggregators.pad_units(
            layer['kernel'], a, len(counts), axis=-2
          ),
        }
        for layer, a in zip(clients, assignments)
      ]
    if position == len(layers) - 1:
      kernel, bias = aggregators.average_last_layer(
        [layer['kernel'] for layer in clients],
        [layer['bias'] for layer in clients],
        class_counts,
      )
      merged.append({'kernel': kernel, 'bias': bias})
      break
    names = [n for n in ('kernel', 'bias') if n in clients[0]]
    tensors = [[layer[n] for n in names] for layer in clients]
    units = [_num_units(layer) for layer in clients]
    match = _match(
      [aggregators.unit_rows(t, u) for t, u in zip(tensors, units)],
      num_biases=clients[0].get('bias', np.zeros(0)).size // units[0],
      **kwargs,
    )
    layer = dict(
      zip(names, aggregators.unit_tensors(match.rows, tensors[0], units[0]))
    )
    if 'recurrent' in clients[0]:
      layer['recurrent'] = aggregators.average_recurrent(
        [layer['recurrent'] for layer in clients],
        match.assignments,
        len(match.counts),
      )
    merged.append(layer)
    matches.append(match)
  return merged, matches


def _rebuild(merged, matches, client):
  """A client's network, of its own sizes."""
  network = [dict(layer) for layer in merged]
  for position, match in enumerate(matches):
    a, num_units = match.assignments[client], len(match.counts)
    layer, following = network[position : position + 2]
    if 'recurrent' in layer:
      layer['recurrent'] = aggregators.take_units(
        layer['recurrent'], a, num_units, axis=-2
      )
    for name, tensor in layer.items():
      layer[name] = aggregators.take_units(tensor, a, num_units)
    following['kernel'] = aggregators.take_units(
      following['kernel'], a, num_units, axis=-2
    )
  return network


class NetworksTest(parameterized.TestCase):
  def assert_same_tensors(self, actual, expected):
    for layer, expected_layer in zip(actual, expected, strict=True):
      self.assertCountEqual(layer, expected_layer)
      for name, tensor in layer.items():
        self.assertEqual(tensor.dtype, np.float32)
        tolerance.assert_close(
          tensor, expected_layer[name], relative=tolerance.FLOAT32
        )

  @parameterized.parameters(*_NETWORKS)
  def test_one_client_keeps_its_function(self, kind):
    create, run, draw_inputs = _NETWORKS[kind]
    rng = np.random.default_rng(1)
    network, x = create(rng), draw_inputs(rng)
    merged, _ = _merge([network], rng.integers(0, 2, [1, 3]))
    tolerance.assert_close(run(merged, x), run(network, x), relative=1e-5)

  @parameterized.product(kind=[*_NETWORKS], gamma=[1e-3, 7.0, 100.0])
  def test_clients_that_are_one_network_keep_its_function(self, kind, gamma):
    create, run, draw_inputs = _NETWORKS[kind]
    rng = np.random.default_rng(2)
    network, x = _silence(create(rng)), draw_inputs(rng)
    expected = run(network, x)
    # Where units stay apart, a narrower client's may go to another, and rightly.
    sizes = (0, 0, 1, 1) if gamma == 1e-3 else (0, 0, 0, 0)
    clients = [_shuffle(network, rng, leave_out=k) for k in sizes]
    for client in clients:
      tolerance.assert_close(run(client, x), expected, relative=1e-5)
    merged, matches = _merge(clients, rng.integers(0, 3, [4, 3]), gamma=gamma)
    tolerance.assert_close(run(merged, x), expected, relative=1e-5)
    average = [
      {name: (a[name] + b[name]) / 2 for name in a}
      for a, b in zip(*clients[:2])
    ]
    self.assertGreater(np.max(np.abs(run(average, x) - expected)), 0.1)
    if gamma == 1e-3:
      for match, layer in zip(matches, network):
        self.assertCountEqual(match.counts, [2] + [4] * (_num_units(layer) - 1))
      for j, client in enumerate(clients):
        self.assert_same_tensors(_rebuild(merged, matches, j), client)

  @parameterized.parameters(*_NETWORKS)
  def test_equal_clients_give_the_average(self, kind):
    rng = np.random.default_rng(3)
    network = _NETWORKS[kind][0](rng)
    merged, _ = _merge([network] * 3, rng.integers(1, 9, [3, 3]), gamma=1.0)
    self.assert_same_tensors(merged, network)

  @hypothesis.given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 4),
    more=st.integers(0, 3),
    shape=st.sampled_from([(), (2, 3)]),
    blocks=st.sampled_from([1, 6]),
  )
  def test_padding_keeps_what_a_layer_computes(
    self, seed, size, more, shape, blocks
  ):
    rng = np.random.default_rng(seed)
    assignment = rng.permutation(size + more)[:size]
    kernel = rng.normal(size=[*shape, blocks * size, 5])
    padded = aggregators.pad_units(kernel, assignment, size + more, axis=-2)
    # As flattened images: blocks of channels, of which the client has some.
    x = rng.normal(size=[blocks, size + more])
    np.testing.assert_allclose(
      x.ravel() @ padded, x[:, assignment].ravel() @ kernel, atol=1e-12
    )
    np.testing.assert_array_equal(
      aggregators.take_units(padded, assignment, size + more, axis=-2), kernel
    )

  @hypothesis.given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 4),
    more=st.integers(0, 3),
    gates=st.sampled_from([1, 4]),
  )
  def test_padding_adds_units_that_say_nothing(self, seed, size, more, gates):
    rng = np.random.default_rng(seed)
    assignment = rng.permutation(size + more)[:size]
    kernel = rng.normal(size=[3, gates * size])
    padded = aggregators.pad_units(kernel, assignment, size + more)
    found = padded.reshape(3, gates, -1)
    self.assertEqual(np.count_nonzero(found), kernel.size)
    np.testing.assert_array_equal(found[..., assignment].reshape(3, -1), kernel)
    np.testing.assert_array_equal(
      aggregators.take_units(padded, assignment, size + more), kernel
    )


class RecurrentTest(parameterized.TestCase):
  @parameterized.parameters(*choices.UnitAverage)
  def test_units_are_averaged_where_they_were_matched(self, average):
    rng = np.random.default_rng(4)
    assignments, num_units = [np.array([2, 0]), np.array([0, 1, 2])], 4
    recurrents = [rng.normal(size=[len(a), 4 * len(a)]) for a in assignments]
    expected = np.zeros([num_units, 4, num_units])
    for recurrent, units in zip(recurrents, assignments):
      for gate, weights in enumerate(np.split(recurrent, 4, axis=1)):
        expected[np.ix_(units, [gate], units)] += weights[:, np.newaxis]
    over_all = average is choices.UnitAverage.OVER_ALL
    expected /= 2 if over_all else [2, 1, 2, 1]
    np.testing.assert_allclose(
      aggregators.average_recurrent(
        recurrents, assignments, num_units, average=average
      ),
      expected.reshape(num_units, -1),
    )


class LastLayerTest(absltest.TestCase):
  def test_classes_are_averaged_by_their_examples(self):
    rng = np.random.default_rng(1)
    kernels, biases = rng.normal(size=[3, 4, 5]), rng.normal(size=[3, 5])
    counts = np.array([[1, 0, 7, 0, 2], [3, 0, 0, 0, 2], [4, 0, 0, 5, 2]])
    kernel, bias = aggregators.average_last_layer(kernels, biases, counts)
    shares = np.array(
      [[1 / 8, 3 / 8, 4 / 8], [1 / 3] * 3, [1, 0, 0], [0, 0, 1]]
    )
    for k, share in enumerate([*shares, [1 / 3] * 3]):
      expected = sum(s * w[:, k] for s, w in zip(share, kernels))
      np.testing.assert_allclose(kernel[:, k], expected)
      np.testing.assert_allclose(bias[k], share @ biases[:, k])

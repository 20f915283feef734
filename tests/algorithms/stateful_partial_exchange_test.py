# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients that keep what nobody sent: against NumPy, and exact limits."""

import collections
import functools

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff.execution import contexts
from fedfish_tff.simulation import communication
from tests import client_state_rounds
from tests import numpy_reference as ref

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_RATE = 0.3
_MODELS = {
  'functional': ref.create_functional_model(),
  'variable': ref.create_variable_model,
}
_SIZES, _DATA = client_state_rounds.SIZES, client_state_rounds.DATA
_COHORTS = ('ab', 'cd', 'ac', 'bd', 'ab')
_HALF = client_work.build_share_selector(0.5)
_ALL = client_work.build_share_selector(1.0)
_COORDINATES = client_work.build_coordinate_selector(
  0.4, direction=client_work.Direction.SMALLEST
)
_SHAPES = ((4, 5), (5,), (5, 3), (3,))


def setUpModule():
  contexts.set_default_context()


@functools.cache
def _build(model='functional', selector=_HALF, **kwargs):
  return algorithms.build_stateful_partial_exchange(
    _MODELS[model],
    tff.learning.optimizers.build_sgdm(_RATE),
    selector=selector,
    **kwargs,
  )


_Simulation = functools.partial(client_state_rounds.Rounds, epochs=1)


class _Reference:
  """FL4Health's exchange as its code has it: replies are kept by everybody.

  Every client applies every reply, also of rounds it does not train in, which
  is what the process stands for. float64, one client after another.
  """

  def __init__(self, start, choose):
    self.server = [np.float64(w) for w in start]
    self.clients = collections.defaultdict(lambda: list(self.server))
    self.choose = choose
    # What a client that never came would have: the server's model.
    self.started = set()

  def run(self, cohort, weights=None):
    sums = [0.0] * 4
    totals = [np.zeros(()) for _ in range(4)]
    sent_by, trained = {}, {}
    for c in cohort:
      start = self.clients[c] if c in self.started else self.server
      trained[c] = list(ref.train(start, _DATA[c], rate=_RATE, epochs=1))
      sent_by[c] = self.choose(start, trained[c])
      weight = _SIZES[c] if weights is None else weights
      for i, mask in enumerate(sent_by[c]):
        sums[i] = sums[i] + weight * mask * trained[c][i]
        totals[i] = totals[i] + weight * mask
    for c in cohort:
      self.started.add(c)
      self.clients[c] = trained[c]
    for i in range(4):
      mean = sums[i] / np.where(totals[i] > 0, totals[i], 1)
      self.server[i] = np.where(totals[i] > 0, mean, self.server[i])
      for c in self.started:
        self.clients[c] = list(self.clients[c])
        self.clients[c][i] = np.where(totals[i] > 0, mean, self.clients[c][i])
    return sent_by


def _largest_tensors(number):
  def choose(start, end):
    drift = [np.linalg.norm(e - s) for s, e in zip(start, end)]
    chosen = np.argsort(drift)[-number:]
    return [np.bool_(i in chosen) for i in range(4)]

  return choose


def _smallest_coordinates(share):
  def choose(start, end):
    change = [np.abs(e - s) for s, e in zip(start, end)]
    flat = np.concatenate([c.ravel() for c in change])
    limit = np.sort(flat)[int(np.ceil(share * flat.size)) - 1]
    return [c <= limit for c in change]

  return choose


class StatefulPartialExchangeTest(parameterized.TestCase):
  def _assert_weights(self, found, expected, **kwargs):
    self.assertLen(found, len(expected))
    for a, e in zip(found, expected):
      np.testing.assert_allclose(a, e, **kwargs)

  def _assert_same(self, found, expected):
    for a, e in zip(found, expected, strict=True):
      np.testing.assert_array_equal(a, e)

  def test_follows_numpy_with_partial_participation(self):
    self._check_follows_numpy(_build(), _largest_tensors(2))

  @pytest.mark.thorough
  def test_coordinates_of_a_variable_model_follow_numpy(self):
    self._check_follows_numpy(
      _build('variable', _COORDINATES), _smallest_coordinates(0.4)
    )

  def _check_follows_numpy(self, process, choose):
    simulation = _Simulation(process)
    reference = _Reference(simulation.server(), choose)
    kept = 0
    for cohort in _COHORTS:
      metrics = simulation.run(cohort)
      sent_by = reference.run(cohort)
      self._assert_weights(
        simulation.server(), reference.server, rtol=1e-4, atol=1e-5
      )
      for client in simulation.clients:
        self._assert_weights(
          simulation.own(client),
          reference.clients[client],
          rtol=1e-4,
          atol=1e-5,
        )
        kept += sum(
          not np.allclose(own, mean, atol=1e-4)
          for own, mean in zip(simulation.own(client), simulation.server())
        )
      for share, masks in zip(
        metrics['aggregator']['sent'].values(), zip(*sent_by.values())
      ):
        self.assertAlmostEqual(share, np.mean([m.mean() for m in masks]), 5)
    # Or every client would have had the server's model all the time.
    self.assertGreater(kept, 0)

  @pytest.mark.thorough
  def test_uniform_weights_and_sums_of_a_factory(self):
    simulation = _Simulation(
      _build(
        client_weighting=tff.learning.ClientWeighting.UNIFORM,
        sum_factory=tff.aggregators.SecureSumFactory(20.0, -20.0),
      )
    )
    reference = _Reference(simulation.server(), _largest_tensors(2))
    for cohort in _COHORTS[:2]:
      metrics = simulation.run(cohort)
      reference.run(cohort, weights=1)
    self._assert_weights(
      simulation.server(), reference.server, rtol=1e-4, atol=1e-5
    )
    self.assertIn('secure_upper_clipped_count', metrics['aggregator'])

  @pytest.mark.thorough
  def test_where_weights_sum_to_too_little_the_server_keeps_its_values(self):
    simulation = _Simulation(_build(minimum_denominator=1e6))
    before = simulation.server()
    simulation.run(_COHORTS[0])
    self._assert_weights(simulation.server(), before, rtol=0, atol=0)

  @pytest.mark.thorough
  def test_everything_sent_is_fed_avg(self):
    simulation = _Simulation(_build('functional', _ALL))
    fed_avg = algorithms.build_fed_avg(
      _MODELS['functional'], tff.learning.optimizers.build_sgdm(_RATE)
    )
    state = fed_avg.set_model_weights(
      fed_avg.initialize(),
      simulation.process.get_model_weights(simulation.state),
    )
    for cohort in _COHORTS[:3]:
      metrics = simulation.run(cohort)
      output = fed_avg.next(state, [ref.to_dataset(_DATA[c]) for c in cohort])
      state = output.state
      self._assert_weights(
        simulation.server(),
        fed_avg.get_model_weights(state).trainable,
        rtol=1e-5,
        atol=1e-6,
      )
      np.testing.assert_allclose(
        metrics['client_work']['train']['loss'],
        output.metrics['client_work']['train']['loss'],
        rtol=1e-5,
      )

  def test_one_client_goes_on_with_its_own_tensors(self):
    """Whatever it sends, its model is that of training alone."""
    simulation = _Simulation(_build())
    alone = ref.initial_weights()
    for _ in range(3):
      simulation.run('b')
      alone = ref.train(alone, _DATA['b'], rate=_RATE, epochs=1)
      self._assert_weights(simulation.own('b'), alone, rtol=1e-4, atol=1e-5)

  def test_a_tensor_that_nobody_sends_stays_with_each_client(self):
    # Groups of one tensor and of the other three; the largest drift is theirs.
    selector = client_work.build_share_selector(0.5, groups=[0, 0, 1, 0])
    names = ('hidden/kernel', 'hidden/bias', 'head/kernel', 'head/bias')
    simulation = _Simulation(_build(selector=selector, tensor_names=names))
    start = simulation.server()
    metrics = simulation.run('ab')
    sent = np.array([m > 0 for m in simulation.state['model']['last_sent']])
    self.assertIn(sent.tolist(), ([1, 1, 0, 1], [0, 0, 1, 0]))
    self.assertEqual(
      metrics['aggregator']['sent'], dict(zip(names, sent.astype(float)))
    )
    for i in range(4):
      values = [simulation.own(c)[i] for c in 'ab']
      trained = [simulation.clients[c]['weights'][i] for c in 'ab']
      if sent[i]:
        self._assert_same(values, [simulation.server()[i]] * 2)
      else:
        self._assert_same(values, trained)
        self.assertFalse(np.array_equal(*values))
        np.testing.assert_array_equal(simulation.server()[i], start[i])

  @parameterized.parameters(np.nan, np.inf)
  def test_a_diverged_client_is_left_out_and_keeps_its_state(self, scale):
    """Whether it never came before or did."""
    with_it, without = _Simulation(_build()), _Simulation(_build())
    for simulation in (with_it, without):
      simulation.run('ab')
    x, y = _DATA['a'][0]
    broken = [(np.float32(scale) * x, y)]
    before = with_it.clients['a']
    metrics = with_it.run('abc', {'a': broken, 'c': broken})
    without.run('b')
    self.assertEqual(metrics['client_work']['excluded_clients'], 2)
    self.assertEqual(metrics['client_work']['train']['num_examples'], 9)
    self._assert_same(with_it.server(), without.server())
    self._assert_same(with_it.clients['a']['weights'], before['weights'])
    self.assertEqual(with_it.clients['a']['last_round'], 1)
    self.assertEqual(with_it.clients['c']['last_round'], 0)
    # One that was never trained starts from the server's model whenever.
    self._assert_same(with_it.own('c'), with_it.server())
    process = with_it.process
    weights = process.client_model_weights(with_it.state, with_it.clients['a'])
    for batches, expected in ((broken, False), (_DATA['a'], True), ([], True)):
      self.assertEqual(
        process.update_is_finite(weights, ref.to_dataset(batches)), expected
      )

  @pytest.mark.thorough
  def test_a_value_too_large_for_the_sum_leaves_its_client_out(self):
    simulation = _Simulation(_build('functional', _ALL))
    simulation.run('ab')
    huge = simulation.clients['a']['weights']
    # Finite, and so is what it is trained to, but not 6 times as much. Adding
    # one number to all logits changes no gradient.
    huge = (*huge[:3], np.full(3, 1e38, np.float32))
    # As if it had come later than what was sent, so that it keeps its own.
    simulation.clients['a'] = collections.OrderedDict(
      weights=huge, last_round=np.int32(2)
    )
    metrics = simulation.run('ab')
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assertEqual(metrics['finalizer']['update_non_finite'], 0)
    self._assert_same(simulation.clients['a']['weights'], huge)
    for weight in simulation.server():
      self.assertTrue(np.isfinite(weight).all())

  def test_an_empty_client_changes_nothing_and_has_the_reply(self):
    with_it, without = _Simulation(_build()), _Simulation(_build())
    for simulation in (with_it, without):
      simulation.run('ab')
    metrics = with_it.run('abc', {'c': []})
    other = without.run('ab')
    self._assert_same(with_it.server(), without.server())
    for name, value in metrics['aggregator']['sent'].items():
      self.assertEqual(value, other['aggregator']['sent'][name])
    self.assertEqual(
      metrics['aggregator']['payload_bytes'],
      other['aggregator']['payload_bytes'],
    )
    self.assertEqual(metrics['client_work']['excluded_clients'], 0)
    self.assertEqual(with_it.clients['c']['last_round'], 2)

  def test_a_round_to_which_nobody_contributes_keeps_everything(self):
    simulation = _Simulation(_build())
    simulation.run('ab')
    before, sent = simulation.server(), simulation.state['model']['last_sent']
    x, y = _DATA['a'][0]
    metrics = simulation.run('ac', {'a': [(x * np.nan, y)], 'c': []})
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assertEqual(metrics['finalizer']['update_non_finite'], 0)
    self._assert_same(simulation.server(), before)
    self._assert_same(simulation.state['model']['last_sent'], sent)
    self.assertEqual(simulation.state['model']['round_number'], 2)

  def test_a_round_repeats_bit_for_bit(self):
    one, other = _Simulation(_build()), _Simulation(_build())
    for cohort in _COHORTS:
      one.run(cohort)
      other.run(cohort)
    for a, b in zip(
      tf.nest.flatten((one.state, one.clients)),
      tf.nest.flatten((other.state, other.clients)),
      strict=True,
    ):
      self.assertEqual(np.asarray(a).tobytes(), np.asarray(b).tobytes())

  @pytest.mark.thorough
  def test_bytes_by_hand(self):
    num_weights = sum(np.prod(s) for s in _SHAPES)
    # Two means (a float32 total and count each) and an int64 count of examples.
    metrics = 2 * 2 * 4 + 8
    for process, num_parts in (
      (_build(), 4),
      (_build('functional', _COORDINATES), num_weights),
    ):
      self.assertEqual(
        communication.measure_wire_bytes(process),
        communication.WireBytes(
          # Weights, the round each part was sent last, the round; the client's
          # state is its own.
          download=4 * num_weights + 4 * num_parts + 4,
          # Numerators and denominators; counts of who sent and contributed;
          # metrics and whether the client was left out.
          upload=4 * num_weights
          + 4 * num_parts
          + 4 * num_parts
          + 4
          + metrics
          + 4,
        ),
      )

  def test_payload_by_hand(self):
    simulation = _Simulation(_build())
    reference = _Reference(simulation.server(), _largest_tensors(2))
    for cohort in _COHORTS[:3]:
      metrics = simulation.run(cohort)
      sent_by = reference.run(cohort)
      expected = sum(
        1 + sum(4 * np.prod(s) for s, m in zip(_SHAPES, masks) if m)
        for masks in sent_by.values()
      )
      self.assertEqual(metrics['aggregator']['payload_bytes'], expected)

  def test_refuses_what_does_not_fit(self):
    with self.assertRaisesRegex(errors.InputError, 'groups for 2 tensors'):
      _build(selector=client_work.build_share_selector(0.5, groups=[0, 1]))
    with self.assertRaisesRegex(errors.InputError, '1 different tensor_names'):
      _build(tensor_names=('one',))
    with self.assertRaisesRegex(TypeError, 'client_optimizer_fn'):
      algorithms.build_stateful_partial_exchange(
        _MODELS['functional'],
        lambda: tf.keras.optimizers.SGD(0.1),
        selector=_HALF,
      )

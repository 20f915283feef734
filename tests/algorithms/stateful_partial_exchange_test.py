# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients that keep what nobody sent: against NumPy, and exact limits."""

import collections
import functools

from fedfish_tff import algorithms
from fedfish_tff import client_work
from tests import numpy_reference as ref
from tests import rounds

import numpy as np
import pytest
import tensorflow_federated as tff

_RATE = 0.3
_COHORTS = ('ab', 'cd', 'ac', 'bd', 'ab')
_HALF = client_work.build_share_selector(0.5)
_ALL = client_work.build_share_selector(1.0)
_COORDINATES = client_work.build_coordinate_selector(
  0.4, direction=client_work.Direction.SMALLEST
)
_SHAPES = ((4, 5), (5,), (5, 3), (3,))


@functools.cache
def _build(model='functional', selector=_HALF, **kwargs):
  return algorithms.build_stateful_partial_exchange(
    rounds.MODELS[model],
    rounds.sgd(_RATE),
    selector=selector,
    **kwargs,
  )


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
      trained[c] = list(ref.train(start, rounds.DATA[c], rate=_RATE, epochs=1))
      sent_by[c] = self.choose(start, trained[c])
      weight = rounds.SIZES[c] if weights is None else weights
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


class StatefulPartialExchangeTest(rounds.TestCase):
  def test_follows_numpy_with_partial_participation(self):
    run = rounds.Rounds(_build())
    self._check_follows_numpy(run, _largest_tensors(2))
    metrics = run.run('b')
    # A bit for each tensor, and four bytes for each number.
    sent = [share > 0 for share in metrics['aggregator']['sent'].values()]
    self.assertEqual(
      metrics['aggregator']['payload_bytes'],
      1 + sum(4 * np.prod(s) for s, m in zip(_SHAPES, sent) if m),
    )

  @pytest.mark.thorough
  def test_coordinates_of_a_variable_model_follow_numpy(self):
    self._check_follows_numpy(
      rounds.Rounds(_build('variable', _COORDINATES)),
      _smallest_coordinates(0.4),
    )

  @pytest.mark.thorough
  def test_uniform_weights_and_sums_of_a_factory(self):
    run = rounds.Rounds(
      _build(
        client_weighting=tff.learning.ClientWeighting.UNIFORM,
        sum_factory=tff.aggregators.SecureSumFactory(20.0, -20.0),
      )
    )
    self._check_follows_numpy(run, _largest_tensors(2), weights=1)
    self.assertIn('secure_upper_clipped_count', run.run('ab')['aggregator'])

  def _check_follows_numpy(self, run, choose, **kwargs):
    reference = _Reference(run.server(), choose)
    kept = 0
    for cohort in _COHORTS:
      metrics = run.run(cohort)
      sent_by = reference.run(cohort, **kwargs)
      self.assert_close(run.server(), reference.server)
      for client in run.clients:
        self.assert_close(run.own(client), reference.clients[client])
        kept += sum(
          not np.allclose(own, mean, atol=1e-4)
          for own, mean in zip(run.own(client), run.server())
        )
      for share, masks in zip(
        metrics['aggregator']['sent'].values(), zip(*sent_by.values())
      ):
        self.assertAlmostEqual(share, np.mean([m.mean() for m in masks]), 5)
    # Or every client would have had the server's model all the time.
    self.assertGreater(kept, 0)

  @pytest.mark.thorough
  def test_everything_sent_is_fed_avg(self):
    self.check_equals(
      rounds.Rounds(_build('functional', _ALL)),
      algorithms.build_fed_avg(rounds.MODELS['functional'], rounds.sgd(_RATE)),
      cohorts=_COHORTS[:3],
    )

  def test_one_client_goes_on_with_its_own_tensors(self):
    """Whatever it sends, its model is that of training alone."""
    run = rounds.Rounds(_build())
    alone = ref.initial_weights()
    for _ in range(3):
      run.run('b')
      alone = ref.train(alone, rounds.DATA['b'], rate=_RATE, epochs=1)
      self.assert_close(run.own('b'), alone)

  def test_a_tensor_that_nobody_sends_stays_with_each_client(self):
    # Groups of one tensor and of the other three; the largest drift is theirs.
    selector = client_work.build_share_selector(0.5, groups=[0, 0, 1, 0])
    names = ('hidden/kernel', 'hidden/bias', 'head/kernel', 'head/bias')
    run = rounds.Rounds(_build(selector=selector, tensor_names=names))
    start = run.server()
    metrics = run.run('ab')
    sent = np.array([m > 0 for m in run.state.client_work['last_sent']])
    self.assertIn(sent.tolist(), ([1, 1, 0, 1], [0, 0, 1, 0]))
    self.assertEqual(
      metrics['aggregator']['sent'], dict(zip(names, sent.astype(float)))
    )
    for i in range(4):
      values = [run.own(c)[i] for c in 'ab']
      trained = [run.clients[c]['weights'][i] for c in 'ab']
      if sent[i]:
        self.assert_same(values, [run.server()[i]] * 2)
      else:
        self.assert_same(values, trained)
        self.assertFalse(np.array_equal(*values))
        np.testing.assert_array_equal(run.server()[i], start[i])

  @pytest.mark.thorough
  def test_a_value_too_large_for_the_sum_leaves_its_client_out(self):
    run = rounds.Rounds(_build('functional', _ALL))
    run.run('ab')
    huge = run.clients['a']['weights']
    # Finite, and so is what it is trained to, but not 6 times as much. Adding
    # one number to all logits changes no gradient.
    huge = (*huge[:3], np.full(3, 1e38, np.float32))
    # As if it had come later than what was sent, so that it keeps its own.
    run.clients['a'] = collections.OrderedDict(
      weights=huge, last_round=np.int32(2)
    )
    metrics = run.run('ab')
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assertEqual(metrics['finalizer']['update_non_finite'], 0)
    self.assert_same(run.clients['a']['weights'], huge)
    for weight in run.server():
      self.assertTrue(np.isfinite(weight).all())

  def test_an_empty_client_changes_nothing_and_has_the_reply(self):
    with_it, without = (rounds.Rounds(_build()) for _ in range(2))
    for run in (with_it, without):
      run.run('ab')
    metrics = with_it.run('abc', {'c': []})
    other = without.run('ab')
    self.assert_same(with_it.server(), without.server())
    for name, value in metrics['aggregator']['sent'].items():
      self.assertEqual(value, other['aggregator']['sent'][name])
    self.assertEqual(
      metrics['aggregator']['payload_bytes'],
      other['aggregator']['payload_bytes'],
    )
    self.assertEqual(metrics['client_work']['excluded_clients'], 0)
    self.assertEqual(with_it.clients['c']['last_round'], 2)

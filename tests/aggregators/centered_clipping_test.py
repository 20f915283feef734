# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Centered clipping against NumPy, in our context and in TFF's."""

from fedfish_tff import aggregators
from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from tests import tolerance
from tests import updates

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow_federated as tff

_NORM = 2.0


def _create(clip_norm=_NORM, mean=None):
  return aggregators.CenteredClippingFactory(clip_norm, mean).create(
    updates.TYPE, tff.TensorType(np.float32)
  )


def _row(value):
  return np.append(np.ravel(value['a']), value['b']).astype(np.float64)


def _move(center, values, weights):
  """Algorithm 2, an iteration, in float64."""
  differences = np.stack([_row(value) for value in values]) - center
  norms = np.linalg.norm(differences, axis=1, keepdims=True)
  clipped = differences * np.minimum(1, _NORM / norms)
  count = int(np.sum((norms[:, 0] > _NORM) & (np.array(weights) > 0)))
  return center + np.average(clipped, axis=0, weights=weights), count


class CenteredClippingTest(parameterized.TestCase):
  def test_rounds_follow_numpy(self):
    process = _create()
    state, center, counts = process.initialize(), np.zeros(7), set()
    for seed in range(4):
      values, weights = updates.draw(5, seed), [1.0, 2.0, 0.0, 1.0, 3.0]
      output = process.next(state, values, weights)
      center, count = _move(center, values, weights)
      tolerance.assert_all_close([_row(output.result)], [center])
      self.assertEqual(output.measurements['clipped_clients'], count)
      state = output.state
      counts.add(count)
    self.assertGreater(len(counts), 1)
    context = tff.framework.get_context_stack().current
    self.assertEqual(context.runner.general_path_reasons, ())

  def test_a_client_moves_the_mean_by_its_share_of_the_bound(self):
    process = _create()
    honest, (attack,) = updates.draw(9), updates.draw(1, seed=1)
    start = process.next(process.initialize(), honest, [1.0] * 9)
    for scale in (1e3, 1e30, 3e38):
      sent = {k: np.float32(scale * np.sign(v)) for k, v in attack.items()}
      moved = process.next(start.state, [*honest[:8], sent], [1.0] * 9)
      others, _ = _move(_row(start.result), honest[:8], [1.0] * 8)
      others = _row(start.result) + (others - _row(start.result)) * 8 / 9
      distance = np.linalg.norm(_row(moved.result) - others)
      # Where its norm overflows it does not count.
      self.assertAlmostEqual(distance, _NORM / 9 * (scale < 1e19), places=5)

  def test_a_round_without_clients_keeps_the_center(self):
    process = _create()
    values = updates.draw(3)
    first = process.next(process.initialize(), values, [1.0] * 3)
    empty = process.next(first.state, values, [0.0] * 3)
    self.assertTrue(np.isnan(empty.result['a']).all())
    again = [
      process.next(output.state, values, [1.0] * 3) for output in (first, empty)
    ]
    np.testing.assert_array_equal(again[0].result['a'], again[1].result['a'])

  def test_clients_get_the_center_and_send_a_mean(self):
    @tff.federated_computation(
      tff.FederatedType(updates.TYPE, tff.CLIENTS),
      tff.FederatedType(np.float32, tff.CLIENTS),
    )
    def run(value, weight):
      process = _create()
      return process.next(process.initialize(), value, weight)

    # The center; the clipped difference, the weight and the count.
    self.assertEqual(
      simulation.measure_wire_bytes(run), (4 * 7, 4 * (7 + 1 + 1))
    )

  @parameterized.parameters(0.0, -1.0, np.nan)
  def test_bad_norm(self, clip_norm):
    with self.assertRaisesRegex(errors.InputError, 'clip_norm must be .*got'):
      aggregators.CenteredClippingFactory(clip_norm)

  @pytest.mark.thorough
  def test_tff_s_worker_agrees(self):
    process = _create(
      mean=tff.aggregators.as_weighted_aggregator(
        tff.aggregators.UnweightedMeanFactory()
      )
    )
    values, weights = updates.draw(5), [1.0] * 5
    here = process.next(process.initialize(), values, weights)
    with contexts.create_context('local_worker') as worker:
      with tff.framework.get_context_stack().install(worker):
        there = process.next(process.initialize(), values, weights)
    np.testing.assert_allclose(here.result['a'], there.result['a'], rtol=1e-6)
    self.assertEqual(here.measurements, there.measurements)

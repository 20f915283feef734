# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedAvg, FedSGD and FedProx against NumPy and TFF's own."""

from fedfish_tff import algorithms
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_UNIFORM = tff.learning.ClientWeighting.UNIFORM
_MODEL = rounds.MODELS['functional']


class FedAvgTest(rounds.TestCase):
  @pytest.mark.thorough
  def test_equals_tff_bit_for_bit(self):
    ours, theirs = (
      build(_MODEL, rounds.sgd(0.3), rounds.sgd(0.7), client_weighting=_UNIFORM)
      for build in (
        algorithms.build_fed_avg,
        tff.learning.algorithms.build_weighted_fed_avg,
      )
    )
    self.check_same(rounds.Rounds(ours), theirs)

  def test_follows_numpy(self):
    run = rounds.Rounds(
      algorithms.build_fed_avg(_MODEL, rounds.sgd(0.3), rounds.sgd(0.7)),
      epochs=2,
    )
    method = rounds.fed_avg(rate=0.3, server_rate=0.7, epochs=2)
    self.check_follows(run, rounds.reference(run.server(), **method))

  @parameterized.parameters(
    algorithms.build_fed_avg, algorithms.build_mime_lite
  )
  def test_client_whose_weighted_delta_overflows_is_left_out(self, build):
    # One step of finite length, which times 100 examples is not.
    data = {
      'a': ref.make_batches(100, 0, batch_size=100),
      'b': ref.make_batches(1, 1),
    }
    run = rounds.Rounds(build(_MODEL, rounds.sgd(1e38), rounds.sgd(1e-36)))
    without = run.copy()
    weights = run.process.get_model_weights(run.state)
    told = [
      bool(run.process.update_is_finite(weights, ref.to_dataset(batches)))
      for batches in data.values()
    ]
    self.assertEqual(told, [False, True])
    metrics = run.run('ab', data)
    without.run('b', data)
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assert_same(run.server(), without.server())
    # The other client moves the weights.
    for after, before in zip(run.server(), weights.trainable):
      self.assertTrue(np.any(after != before))

  @pytest.mark.thorough
  def test_aggregator_composes(self):
    run = rounds.Rounds(
      algorithms.build_fed_avg(
        _MODEL,
        rounds.sgd(0.05),
        model_aggregator=tff.learning.robust_aggregator(),
      )
    )
    # Deltas of this size are neither clipped nor zeroed.
    method = rounds.fed_avg(rate=0.05, epochs=1)
    ((expected, _),) = rounds.reference(run.server(), **method, cohorts=['ab'])
    run.run('ab')
    self.assert_close(run.server(), expected)

  def test_what_is_no_model_is_refused(self):
    with self.assertRaisesRegex(TypeError, 'model must be'):
      algorithms.build_fed_avg(tf.constant(1), rounds.sgd(0.3))


def _step(weights, batches):
  gradient = ref.full_gradient(weights, batches)
  return tuple(w - g for w, g in zip(weights, gradient))


class FedSgdTest(rounds.TestCase):
  @parameterized.parameters(False, True)
  def test_follows_numpy(self, uniform):
    """One step on the gradient of all clients' examples, or on their mean."""
    weighting = tff.learning.ClientWeighting
    run = rounds.Rounds(
      algorithms.build_fed_sgd(
        rounds.MODELS['functional'],
        rounds.sgd(0.5),
        client_weighting=(
          weighting.UNIFORM if uniform else weighting.NUM_EXAMPLES
        ),
      )
    )
    method = rounds.averaging(_step, server_rate=0.5, uniform=uniform)
    self.check_follows(run, rounds.reference(run.server(), **method))

  @pytest.mark.thorough
  def test_equals_tff(self):
    ours, theirs = (
      build(rounds.MODELS['functional'], rounds.sgd(0.5))
      for build in (
        algorithms.build_fed_sgd,
        tff.learning.algorithms.build_fed_sgd,
      )
    )
    self.check_equals(rounds.Rounds(ours), theirs)


_RATES = dict(rate=0.3, server_rate=0.7, epochs=2)


def _build(strength):
  return algorithms.build_fed_prox(
    rounds.MODELS['functional'],
    rounds.sgd(0.3),
    rounds.sgd(0.7),
    proximal_strength=strength,
  )


class FedProxTest(rounds.TestCase):
  def test_follows_numpy(self):
    run = rounds.Rounds(_build(0.3), epochs=2)
    method = rounds.fed_avg(**_RATES, proximal_strength=0.3)
    self.check_follows(run, rounds.reference(run.server(), **method))

  @pytest.mark.thorough
  def test_without_strength_it_is_fed_avg_bit_for_bit(self):
    self.check_same(
      rounds.Rounds(_build(0), epochs=2),
      algorithms.build_fed_avg(
        rounds.MODELS['functional'], rounds.sgd(0.3), rounds.sgd(0.7)
      ),
    )

  @pytest.mark.slow
  def test_tff_still_has_the_opposite_sign(self):
    """Why TFF's own is not used; where this fails, it can be again."""
    run = rounds.Rounds(
      tff.learning.algorithms.build_weighted_fed_prox(
        rounds.MODELS['functional'], 0.3, rounds.sgd(0.3), rounds.sgd(0.7)
      ),
      epochs=2,
    )
    opposite = rounds.fed_avg(**_RATES, proximal_strength=-0.3)
    self.check_follows(run, rounds.reference(run.server(), **opposite))

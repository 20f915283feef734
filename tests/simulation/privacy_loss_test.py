# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of epsilon, against other formulas and published figures."""

import math

from fedfish_tff import simulation

from absl.testing import absltest
from absl.testing import parameterized
import dp_accounting
import numpy as np
from scipy import integrate
from scipy import stats

_DELTA = 1e-5
# The tutorial of TensorFlow Privacy on MNIST.
_TUTORIAL = dict(noise_multiplier=1.1, sampling_probability=256 / 60000)
_TUTORIAL_ROUNDS = 60 * 60000 // 256


def _sampled_loss(order, noise_multiplier, sampling_probability):
  """A round's Rényi divergence of an order, by quadrature of its definition."""
  q, sigma = sampling_probability, noise_multiplier

  def integrand(x):
    ratio = 1 - q + q * math.exp((2 * x - 1) / (2 * sigma**2))
    return stats.norm.pdf(x, scale=sigma) * ratio**order

  # The mass of the power is at the order.
  value, _ = integrate.quad(
    integrand, -12 * sigma, order + 12 * sigma, points=[0, order], limit=200
  )
  return math.log(value) / (order - 1)


def _of_losses(losses, delta):
  """Epsilon by orders' losses; Canonne et al. (2020), proposition 12."""
  return min(
    loss + math.log1p(-1 / a) - math.log(delta * a) / (a - 1)
    for a, loss in losses.items()
  )


class PoissonTest(parameterized.TestCase):
  def test_quadrature(self):
    epsilon = simulation.poisson_epsilon(delta=_DELTA, **_TUTORIAL)
    losses = {
      a: _TUTORIAL_ROUNDS * _sampled_loss(a, **_TUTORIAL) for a in range(2, 16)
    }
    reference = _of_losses(losses, _DELTA)
    # Which has orders between integers, too.
    self.assertBetween(epsilon(_TUTORIAL_ROUNDS), 0.99 * reference, reference)
    # As the tutorial published it, by a conversion that has been improved.
    published = min(
      loss - math.log(_DELTA) / (a - 1) for a, loss in losses.items()
    )
    self.assertAlmostEqual(published, 3.01, delta=0.01)

  @parameterized.parameters(
    # Of compute_dp_sgd_privacy_test of tensorflow_privacy 0.9.
    (1.3, 150 / 60000, 15, 1e-5, 0.7242234026109595),
    (1.0, 100 / 100000, 30, 1e-7, 1.4154988495444845),
  )
  def test_published(self, noise, probability, epochs, delta, expected):
    epsilon = simulation.poisson_epsilon(
      noise, delta=delta, sampling_probability=probability
    )
    self.assertAlmostEqual(epsilon(round(epochs / probability)), expected)

  def test_bounds_what_privacy_loss_distributions_give(self):
    """Another accountant, which is tight."""
    accountant = dp_accounting.pld.PLDAccountant()
    accountant.compose(
      dp_accounting.PoissonSampledDpEvent(
        0.2, dp_accounting.GaussianDpEvent(2.0)
      ),
      50,
    )
    tight = accountant.get_epsilon(_DELTA)
    bound = simulation.poisson_epsilon(
      2.0, delta=_DELTA, sampling_probability=0.2
    )(50)
    self.assertBetween(bound, tight, 1.15 * tight)

  def test_limits(self):
    epsilon = simulation.poisson_epsilon(
      0.0, delta=_DELTA, sampling_probability=0.5
    )
    self.assertEqual((epsilon(0), epsilon(1)), (0.0, math.inf))


class FixedSizeTest(absltest.TestCase):
  def test_everybody_every_round(self):
    """The Gaussian mechanism; another client moves the sum by 2 norms."""
    epsilon = simulation.fixed_size_epsilon(
      6.0, delta=_DELTA, cohort_size=9, num_clients=9
    )
    losses = {a: 7 * a * 2**2 / (2 * 6.0**2) for a in np.arange(1.1, 60, 0.1)}
    reference = _of_losses(losses, _DELTA)
    self.assertAlmostEqual(epsilon(7) / reference, 1, places=3)

  def test_few_of_many_tell_less(self):
    few, all_of_them = (
      simulation.fixed_size_epsilon(
        4.0, delta=_DELTA, cohort_size=size, num_clients=1000
      )(100)
      for size in (10, 1000)
    )
    self.assertLess(few, all_of_them / 10)


class TreeTest(parameterized.TestCase):
  @parameterized.parameters((1.13, 19.74), (8.83, 2.04))
  def test_is_not_above_what_was_published(self, noise, published):
    """Kairouz et al. (2021), Stack Overflow, whose accounting was improved."""
    epsilon = simulation.tree_epsilon(noise, delta=1e-6, rounds_per_tree=1600)
    self.assertBetween(epsilon(1600), 0.8 * published, published)

  def test_a_client_is_in_one_path_of_each_tree(self):
    epsilon = simulation.tree_epsilon(3.0, delta=_DELTA, rounds_per_tree=6)
    self.assertEqual(epsilon(0), 0.0)
    for rounds in range(1, 20):
      trees, rest = divmod(rounds, 6)
      nodes = 3 * trees + math.ceil(math.log2(rest + 1))
      losses = {a: a * nodes / (2 * 3.0**2) for a in np.arange(1.1, 60, 0.1)}
      reference = _of_losses(losses, _DELTA)
      self.assertAlmostEqual(epsilon(rounds) / reference, 1, places=3)

  def test_without_noise(self):
    epsilon = simulation.tree_epsilon(0.0, delta=_DELTA, rounds_per_tree=6)
    self.assertEqual(epsilon(1), math.inf)

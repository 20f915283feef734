# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of epsilon, against other formulas and published figures."""

import math

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff import simulation

from absl.testing import absltest
from absl.testing import parameterized
import dp_accounting
import numpy as np
from scipy import integrate
from scipy import optimize
from scipy import stats

_DELTA = 1e-5
_PLD = choices.Accountant.PLD
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


def _gaussian_epsilon(noise, delta):
  """Epsilon of a Gaussian sum; Balle and Wang (2018), theorem 8."""

  def log_delta_at(epsilon):
    first = stats.norm.logcdf(0.5 / noise - epsilon * noise)
    second = epsilon + stats.norm.logcdf(-0.5 / noise - epsilon * noise)
    return first + math.log1p(-math.exp(min(second - first, -1e-16)))

  return optimize.brentq(
    lambda epsilon: log_delta_at(epsilon) - math.log(delta),
    0,
    0.5 / noise**2 + 10 / noise,
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

  @parameterized.parameters(
    (2.0, 0.2, 50, _DELTA, 1.15),
    (1.1, 256 / 60000, _TUTORIAL_ROUNDS, _DELTA, 1.1),
    # Of production: many clients and a small delta.
    (1.0, 100 / 350_000, 1000, 1e-6, 15),
    (0.5, 0.1, 5, 1e-3, 2),
  )
  def test_tight(self, noise, probability, rounds, delta, looseness):
    """The library's accountant, with its finer default discretisation."""
    accountant = dp_accounting.pld.PLDAccountant()
    accountant.compose(
      dp_accounting.PoissonSampledDpEvent(
        probability, dp_accounting.GaussianDpEvent(noise)
      ),
      rounds,
    )
    tight = accountant.get_epsilon(delta)
    by_rdp, by_pld = (
      simulation.poisson_epsilon(
        noise,
        delta=delta,
        sampling_probability=probability,
        accountant=of,
      )(rounds)
      for of in choices.Accountant
    )
    self.assertBetween(by_pld, 0.995 * tight, 1.01 * tight)
    self.assertBetween(by_rdp, by_pld, looseness * tight)

  @parameterized.parameters((0.02, 1), (0.5, 10), (3.0, 100), (50.0, 9))
  def test_all_clients_every_round(self, noise, rounds):
    """Rounds without sampling are one Gaussian mechanism."""
    found = simulation.poisson_epsilon(
      noise, delta=_DELTA, sampling_probability=1.0, accountant=_PLD
    )(rounds)
    expected = _gaussian_epsilon(noise / math.sqrt(rounds), _DELTA)
    self.assertBetween(found, expected, 1.01 * expected)

  @parameterized.parameters(*choices.Accountant)
  def test_limits(self, accountant):
    epsilon = simulation.poisson_epsilon(
      0.0, delta=_DELTA, sampling_probability=0.5, accountant=accountant
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

  def test_much_noise(self):
    epsilons = [
      simulation.fixed_size_epsilon(
        noise, delta=_DELTA, cohort_size=5, num_clients=24
      )(5)
      for noise in (1e3, 1e6, 1e9, 1e30)
    ]
    self.assertEqual(epsilons, sorted(epsilons, reverse=True))
    self.assertLess(epsilons[0], 0.2)

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

      tight = simulation.tree_epsilon(
        3.0, delta=_DELTA, rounds_per_tree=np.int64(6), accountant=_PLD
      )(np.int64(rounds))
      gaussian = _gaussian_epsilon(3.0 / math.sqrt(nodes), _DELTA)
      self.assertBetween(tight, gaussian, 1.01 * gaussian)

  @parameterized.parameters(*choices.Accountant)
  def test_limits(self, accountant):
    epsilon = simulation.tree_epsilon(
      0.0, delta=_DELTA, rounds_per_tree=6, accountant=accountant
    )
    self.assertEqual((epsilon(0), epsilon(1)), (0.0, math.inf))


class ArgumentsTest(parameterized.TestCase):
  @parameterized.parameters(
    (
      {'sampling_probability': 1.5},
      'sampling_probability must be .* 1, got 1.5',
    ),
    ({'sampling_probability': 0.0}, 'sampling_probability must be .*above 0'),
    ({'sampling_probability': math.nan}, 'sampling_probability must'),
    ({'cohort_size': 10}, 'cohort_size must be at most 9, .* got 10'),
    ({'cohort_size': 0}, 'cohort_size must be a positive integer'),
    ({'rounds_per_tree': 0}, 'rounds_per_tree must be a positive integer'),
    ({'delta': 1.0}, 'delta must be .*above 0 and below 1, got 1.0'),
    ({'delta': 0}, 'delta must be'),
    ({'noise_multiplier': -1.0}, 'noise_multiplier must be .*0 or more'),
    ({'noise_multiplier': math.inf}, 'noise_multiplier must be'),
    ({'noise_multiplier': 0.001, 'accountant': _PLD}, '0.01 for .* pld'),
    ({'accountant': 'rdp'}, "choices.Accountant, got 'rdp'"),
  )
  def test_out_of_range(self, changes, message):
    for build, own in (
      (simulation.poisson_epsilon, {'sampling_probability': 0.5}),
      (simulation.fixed_size_epsilon, {'cohort_size': 3, 'num_clients': 9}),
      (simulation.tree_epsilon, {'rounds_per_tree': 3}),
    ):
      usual = {'noise_multiplier': 1.0, 'delta': _DELTA, **own}
      if build is not simulation.fixed_size_epsilon:
        usual['accountant'] = choices.Accountant.RDP
      if changes.keys() <= usual.keys():
        with self.assertRaisesRegex(errors.InputError, message):
          build(**(usual | changes))

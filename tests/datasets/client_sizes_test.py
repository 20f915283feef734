# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the law of client sizes."""

import csv
import itertools

from fedfish_tff import errors
from fedfish_tff.datasets import client_sizes
from tests import local_data

from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from scipy import optimize
from scipy import special

# The sums of real sizes, and the files that list them.
_REAL = {
  'inaturalist_users_120k': (120_293, 'inaturalist_user_120k'),
  'inaturalist_geo_100': (118_648, 'inaturalist_geo_100'),
  'inaturalist_geo_1k': (120_212, 'inaturalist_geo_1k'),
  'inaturalist_geo_3k': (120_112, 'inaturalist_geo_3k'),
  'landmarks_users_160k': (151_373, 'gldv2'),
}


def _law(**changes):
  return client_sizes.ClientSizeLaw(
    **{'exponent': 1.5, 'shift': 2.0, 'smallest': 3, 'largest': 60, **changes}
  )


def _fit(sizes):
  """Returns the law of maximum likelihood on the range of the sizes."""
  values, counts = np.unique(sizes, return_counts=True)
  smallest, largest = int(values[0]), int(values[-1])
  possible = np.arange(smallest, largest + 1)

  def negative_log_likelihood(parameters):
    exponent, log_offset = parameters
    logits = -exponent * np.log(possible - smallest + np.exp(log_offset))
    return -counts @ (logits - special.logsumexp(logits))[values - smallest]

  # Likelihoods have more than one peak.
  found = min(
    (
      optimize.minimize(
        negative_log_likelihood,
        start,
        method='Nelder-Mead',
        options={'maxiter': 4000, 'xatol': 1e-6, 'fatol': 1e-6},
      )
      for start in itertools.product((0.5, 2.0), (0.0, 3.0))
    ),
    key=lambda result: result.fun,
  )
  return client_sizes.ClientSizeLaw(
    exponent=found.x[0],
    shift=np.exp(found.x[1]) - smallest,
    smallest=smallest,
    largest=largest,
  )


class ClientSizesTest(parameterized.TestCase):
  def test_probabilities(self):
    sizes = np.arange(3, 61)
    expected = (sizes + 2.0) ** -1.5
    expected /= expected.sum()
    np.testing.assert_allclose(_law().probabilities, expected)
    self.assertAlmostEqual(_law().mean, expected @ sizes)
    np.testing.assert_allclose(_law(exponent=0).probabilities, 1 / 58)

  def test_draws_follow_the_law(self):
    sizes = _law().draw(100_000, seed=0)
    counts = np.bincount(sizes, minlength=61)[3:]
    # One in each of 100,000 equal parts: a count is off by less than two.
    np.testing.assert_array_less(
      np.abs(counts - 100_000 * _law().probabilities), 2
    )
    # Not in the order of their sizes.
    self.assertLess(abs(np.corrcoef(sizes, np.arange(100_000))[0, 1]), 0.02)

  @given(
    exponent=st.floats(-2, 5),
    shift=st.floats(-0.99, 1000),
    smallest=st.integers(1, 50),
    width=st.integers(0, 500),
    num_clients=st.integers(1, 200),
  )
  def test_draws_are_in_range(
    self, exponent, shift, smallest, width, num_clients
  ):
    law = _law(
      exponent=exponent,
      shift=shift,
      smallest=smallest,
      largest=smallest + width,
    )
    self.assertAlmostEqual(law.probabilities.sum(), 1)
    sizes = law.draw(num_clients, seed=1)
    self.assertEqual((sizes.shape, sizes.dtype), ((num_clients,), np.int64))
    self.assertBetween(sizes.min(), smallest, smallest + width)
    self.assertBetween(sizes.max(), smallest, smallest + width)

  def test_a_function_of_the_seed(self):
    np.testing.assert_array_equal(
      _law().draw(50, seed=3), _law().draw(50, seed=3)
    )
    self.assertFalse(
      np.array_equal(_law().draw(50, seed=3), _law().draw(50, seed=4))
    )

  @parameterized.parameters(*_REAL)
  def test_published_splits_are_of_the_real_size(self, name):
    split = client_sizes.PUBLISHED_SPLITS[name]
    sizes = split.size_law.draw(split.num_clients, seed=0)
    self.assertLess(abs(sizes.sum() / _REAL[name][0] - 1), 0.06)

  @parameterized.parameters(*_REAL)
  def test_published_laws_are_those_of_real_sizes(self, name):
    folder = local_data.find_sample('inat_landmarks_client_sizes')
    with open(folder / f'{_REAL[name][1]}_original_client_sizes.csv') as file:
      sizes = np.array(
        [
          int(row['num_images'])
          for row in csv.DictReader(file)
          if row['client'] != 'test'
        ]
      )
    split = client_sizes.PUBLISHED_SPLITS[name]
    self.assertLen(sizes, split.num_clients)
    fitted = _fit(sizes)
    law = split.size_law
    self.assertEqual(
      (fitted.smallest, fitted.largest), (law.smallest, law.largest)
    )
    np.testing.assert_allclose(
      [fitted.exponent, fitted.shift], [law.exponent, law.shift], rtol=1e-3
    )
    # Kolmogorov and Smirnov's distance to the real sizes.
    counts = np.bincount(sizes, minlength=law.largest + 1)[law.smallest :]
    real = np.cumsum(counts) / len(sizes)
    distance = np.abs(np.cumsum(law.probabilities) - real).max()
    self.assertLess(distance, 1.6 / np.sqrt(len(sizes)))

  @parameterized.parameters(
    (dict(smallest=0), 'smallest must be .*got 0'),
    (dict(largest=2.5), 'largest must be .*got 2.5'),
    (dict(largest=2), 'size .*got 2'),
    (dict(shift=-3.0), 'shift must be .*got -3.0'),
    (dict(exponent=np.nan), 'exponent .*got nan and 2.0'),
  )
  def test_bad_laws(self, changes, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      _law(**changes)

  def test_bad_number_of_clients(self):
    with self.assertRaisesRegex(errors.InputError, 'num_clients .*0'):
      _law().draw(0, seed=0)

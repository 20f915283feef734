# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the random streams."""

import hashlib
import os
import subprocess
import sys

from fedfish_tff.datasets import random_streams
from tests import processes

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
from scipy import stats

_KEYS = st.lists(
  st.one_of(st.integers(), st.text(max_size=5)), min_size=1, max_size=4
)


def _draws(*keys):
  return random_streams.random_generator(*keys).integers(0, 2**63, 4).tolist()


class RandomGeneratorTest(parameterized.TestCase):
  @settings(max_examples=200)
  @given(a=_KEYS, b=_KEYS)
  def test_different_keys_give_different_streams(self, a, b):
    self.assertEqual(_draws(*a) == _draws(*b), a == b)

  @parameterized.parameters(
    ((1,), ('1',)),
    (('ab', 'c'), ('a', 'bc')),
    ((1, 23), (12, 3)),
    (('a',), ('a', '')),
    ((0,), (-0, 0)),
  )
  def test_similar_keys_are_kept_apart(self, a, b):
    self.assertNotEqual(_draws(*a), _draws(*b))

  def test_numpy_integers_count_as_integers(self):
    self.assertEqual(_draws('s', np.int64(7)), _draws('s', 7))

  def test_stream_is_the_same_in_every_process(self):
    code = (
      'from fedfish_tff.datasets import random_streams as r;'
      "print(r.random_generator('purpose', 3, 'client')"
      '.integers(0, 2**63, 4).tolist())'
    )
    output = subprocess.run(
      [sys.executable, '-c', code],
      env={
        **os.environ,
        'PYTHONHASHSEED': '12345',
        'PYTHONPATH': os.pathsep.join(sys.path),
      },
      capture_output=True,
      check=True,
      text=True,
      timeout=processes.HANG_SECONDS,
    ).stdout
    self.assertEqual(output.strip(), str(_draws('purpose', 3, 'client')))

  def test_streams_are_pinned(self):
    # A change here changes every run: cohorts, batches, initial weights.
    key = hashlib.sha256(b's6:pinned' + b'i2:20').digest()[:16]
    raw = np.random.Philox(key=int.from_bytes(key, 'little')).random_raw(2)
    self.assertEqual(raw.tolist(), [10970126827165263416, 15137232414834780656])
    stream = random_streams.random_generator('pinned', 20)
    np.testing.assert_array_equal(stream.bit_generator.random_raw(2), raw)

  @parameterized.parameters((), (1.5,), ('a', None), ((1, 2),))
  def test_other_keys_are_refused(self, *keys):
    with self.assertRaises(TypeError):
      random_streams.random_generator(*keys)


class UniformNumbersTest(absltest.TestCase):
  @settings(max_examples=50)
  @given(
    names=st.lists(st.text(max_size=5), max_size=5, unique=True), keys=_KEYS
  )
  def test_a_number_is_its_names_alone(self, names, keys):
    together = random_streams.uniform_numbers(names, *keys)
    alone = [random_streams.uniform_numbers([n], *keys)[0] for n in names]
    self.assertEqual(together.tolist(), alone)

  def test_numbers_are_pinned(self):
    # A change here changes the speeds of clients and who drops out.
    digest = hashlib.sha256(b's6:pinned' + b'i2:20' + b'nclient').digest()
    bits = int.from_bytes(digest[:8], 'little') >> 11
    np.testing.assert_array_equal(
      random_streams.uniform_numbers(['client'], 'pinned', 20), [bits / 2**53]
    )

  def test_uniform_and_independent_of_other_keys(self):
    names = [str(i) for i in range(10_000)]
    one, other = (
      random_streams.uniform_numbers(names, 'test', r) for r in (1, 2)
    )
    self.assertGreater(stats.kstest(one, 'uniform').pvalue, 1e-3)
    self.assertBetween(one.min(), 0, 1e-3)
    self.assertBetween(one.max(), 0.999, 1 - 2.0**-53)
    self.assertGreater(stats.spearmanr(one, other).pvalue, 1e-3)

  def test_needs_a_key(self):
    with self.assertRaises(TypeError):
      random_streams.uniform_numbers(['client'])

  def test_names_that_are_not_utf8(self):
    # The id of a client whose file has a name in Latin-1.
    name = b'caf\xe9'.decode(errors='surrogateescape')
    streams = [
      random_streams.random_generator('test', n) for n in (name, 'café', name)
    ]
    first, second, again = (stream.random() for stream in streams)
    self.assertEqual(first, again)
    self.assertNotEqual(first, second)
    numbers = random_streams.uniform_numbers([name, 'café'], 'test')
    self.assertNotEqual(numbers[0], numbers[1])

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of clients' speeds and of the seconds that rounds last."""

from fedfish_tff import errors
from fedfish_tff.simulation import client_speeds

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
from scipy import stats

_IDS = tuple(f'client {i}' for i in range(2000))
_CLASSES = (
  client_speeds.DeviceClass(share=3, seconds=1.0),
  client_speeds.DeviceClass(share=1, seconds=10.0),
)
_SPEEDS = {
  'fixed': lambda seed: client_speeds.fixed_exponential_speeds(
    seed=seed, scale=2.0
  ),
  'dynamic': lambda seed: client_speeds.dynamic_exponential_speeds(seed=seed),
  'classes': lambda seed: client_speeds.device_class_speeds(
    _CLASSES, seed=seed
  ),
}


class ClientSpeedsTest(parameterized.TestCase):
  @settings(max_examples=25)
  @given(
    name=st.sampled_from(sorted(_SPEEDS)),
    seed=st.integers(0, 2**40),
    round_number=st.integers(1, 10**6),
    chosen=st.lists(st.sampled_from(_IDS[:20]), unique=True),
  )
  def test_a_clients_seconds_are_its_own(
    self, name, seed, round_number, chosen
  ):
    speeds = _SPEEDS[name](seed)
    everyone = dict(zip(_IDS[:20], speeds(round_number, _IDS[:20])))
    again = _SPEEDS[name](seed)
    again(round_number + 1, _IDS[:3])
    self.assertEqual(
      again(round_number, chosen).tolist(), [everyone[c] for c in chosen]
    )

  def test_fixed_ones_are_drawn_once(self):
    speeds = _SPEEDS['fixed'](1)
    seconds = speeds(1, _IDS)
    np.testing.assert_array_equal(seconds, speeds(9, _IDS))
    self.assertGreater(
      stats.kstest(seconds, stats.expon(scale=2).cdf).pvalue, 1e-3
    )
    self.assertFalse(np.any(seconds == _SPEEDS['fixed'](2)(1, _IDS)))

  def test_dynamic_ones_are_drawn_around_a_scale_that_stays(self):
    speeds = client_speeds.dynamic_exponential_speeds(seed=1, scales=(2.0, 6.0))
    seconds = np.array([speeds(r, _IDS[:200]) for r in range(1, 301)])
    # Over 300 rounds, a mean has the standard error scale / sqrt(300), 6%.
    scales = seconds.mean(axis=0)
    self.assertBetween(scales.min(), 2 * 0.75, 2 * 1.25)
    self.assertBetween(scales.max(), 6 * 0.75, 6 * 1.25)
    # U[2, 6], blurred by those errors.
    self.assertAlmostEqual(scales.mean(), 4, delta=4 * np.sqrt(16 / 12 / 200))
    # Around its own scale, each is Exp(1): one client is, and one round.
    one = seconds[:, 0] / seconds[:, 0].mean()
    self.assertGreater(stats.kstest(one, 'expon').pvalue, 1e-3)
    one = seconds[0] / scales
    self.assertGreater(stats.kstest(one, 'expon').pvalue, 1e-3)

  def test_classes_have_their_shares_and_means(self):
    speeds = _SPEEDS['classes'](3)
    seconds = np.array([speeds(r, _IDS) for r in range(1, 51)])
    slow = seconds.mean(axis=0) > 4
    # 4 is 3.0 / 0.14 and -6 / 1.41 standard errors away from the two means.
    share = stats.binomtest(int(slow.sum()), len(_IDS), 0.25)
    self.assertGreater(share.pvalue, 1e-3)
    for mean, members in ((1, ~slow), (10, slow)):
      drawn = seconds[:, members] / mean
      self.assertAlmostEqual(drawn.mean(), 1, delta=4 / np.sqrt(drawn.size))

  @parameterized.parameters(
    ((), 'There .*device class'),
    (((0, 1.0),), 'share .*0'),
    (((1, -1.0),), 'seconds.*-1.0'),
  )
  def test_refuses_classes(self, classes, message):
    with self.assertRaisesRegex(errors.InputError, message):
      client_speeds.device_class_speeds(
        [client_speeds.DeviceClass(*c) for c in classes], seed=0
      )

  @parameterized.parameters(
    ('fixed_exponential_speeds', {'scale': 0.0}, 'scale .*positive.*0.0'),
    ('dynamic_exponential_speeds', {'scales': (-1.0, 1.0)}, 'first .*-1.0'),
    ('dynamic_exponential_speeds', {'scales': (2.0, 1.0)}, 'second .*1.0'),
  )
  def test_refuses_scales(self, build, changed, message):
    with self.assertRaisesRegex(errors.InputError, message):
      getattr(client_speeds, build)(seed=0, **changed)


class ReadTraceSpeedsTest(parameterized.TestCase):
  def _read(self, text, client_ids=('a', 'b, c')):
    path = self.create_tempfile(content=text).full_path
    return client_speeds.read_trace_speeds(path, client_ids)

  def test_reads(self):
    speeds = self._read('client_id,seconds\nz,1\n"b, c",2.5\na,1e-3\n')
    for round_number in (1, 7):
      np.testing.assert_array_equal(
        speeds(round_number, ['b, c', 'a', 'z']), [2.5, 1e-3, 1]
      )

  @parameterized.parameters(
    ('client_id,seconds\na,1\n', "line .*client 'b, c'"),
    ('client_id,seconds\na,0\n', "line 2: .* client 'a' must be .*got '0'"),
    ('client_id,seconds\nz,1\na,-2\n', "line 3.*client 'a'.*'-2'"),
    ('client_id,seconds\na,fast\n', "line 2.*client 'a'.*'fast'"),
    ('client_id,seconds\na,nan\n', "client 'a' .*'nan'"),
    ('client_id,seconds\na,inf\n', "client 'a' .*'inf'"),
    ('client_id,seconds\na,\n', "client 'a' .*''"),
    ('client_id,seconds\na\n', 'Line 2 .*2 cells'),
    ('client_id,seconds\na,1\na,2\n', "line 3.*client 'a'"),
    ('id,time\na,1\n', "with the columns client_id,seconds.*'id,time'"),
    ('', "with .*''"),
    (b'client_id,seconds\n\xff,1\n', 'is no CSV file'),
  )
  def test_refuses(self, text, message):
    with self.assertRaisesRegex(errors.InputError, message) as caught:
      self._read(text)
    self.assertNotIn('\n', str(caught.exception))

  def test_refuses_a_file_that_is_not_there(self):
    with self.assertRaisesRegex(errors.InputError, 'Cannot read nowhere.csv'):
      client_speeds.read_trace_speeds('nowhere.csv', [])


class WallClockTest(absltest.TestCase):
  def test_by_hand(self):
    seconds = {1: {'a': 3.0, 'b': 1.0}, 2: {'a': 0.5, 'b': 4.0}}
    clock = client_speeds.build_wall_clock(
      lambda r, ids: np.array([seconds[r][c] for c in ids]),
      communication_seconds=10.0,
    )
    self.assertEqual(clock(1, ['a', 'b']), 13.0)
    self.assertEqual(clock(1, ['b']), 11.0)
    self.assertEqual(clock(2, ['b', 'a']), 14.0)
    # Nobody has answered.
    self.assertEqual(clock(2, []), 10.0)
    with self.assertRaisesRegex(errors.InputError, 'communication_.*-1'):
      client_speeds.build_wall_clock(clock, communication_seconds=-1)

  def test_the_expected_slowest_of_n_is_a_harmonic_number(self):
    """E max of n iid Exp is scale * H_n, by the memoryless property."""
    n, draws, scale = 20, 1000, 3.0
    clock = client_speeds.build_wall_clock(
      client_speeds.device_class_speeds(
        [client_speeds.DeviceClass(1, scale)], seed=5
      ),
      communication_seconds=2.0,
    )
    seconds = np.array([clock(r, _IDS[:n]) for r in range(1, draws + 1)])
    harmonic = np.sum(1 / np.arange(1, n + 1))
    # Its variance is the sum of 1 / k^2.
    deviation = scale * np.sqrt(np.sum(1 / np.arange(1, n + 1) ** 2.0))
    self.assertAlmostEqual(
      seconds.mean(),
      2.0 + scale * harmonic,
      delta=4 * deviation / np.sqrt(draws),
    )

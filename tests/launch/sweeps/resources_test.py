# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of how many runs may run."""

import os
from unittest import mock

from launch.sweeps import resources

from absl.testing import parameterized
import psutil

_GIB = 1 << 30


class ResourcesTest(parameterized.TestCase):
  @parameterized.parameters(
    ([0, 1], 1, [[0, 1]]),
    ([0, 1], 2, [[0], [1]]),
    ([4, 5, 6, 7], 2, [[4, 5], [6, 7]]),
    ([0, 1, 2], 2, [[0], [1]]),
    ([3], 2, [[3], [3]]),
    ([0, 1], 3, [[0], [1], [0]]),
  )
  def test_cores_are_shared(self, cores, num_processes, expected):
    self.assertEqual(resources.share_cores(cores, num_processes), expected)

  def test_usable_cores(self):
    cores = resources.usable_cores()
    self.assertNotEmpty(cores)
    self.assertContainsSubset(cores, os.sched_getaffinity(0))

  def test_available_memory(self):
    available = resources.available_bytes()
    self.assertGreater(available, 0)
    self.assertLessEqual(available, psutil.virtual_memory().total)

  def test_a_containers_limit_counts(self):
    files = {
      'memory.max': str(4 * _GIB),
      'memory.current': str(3 * _GIB),
      'memory.stat': f'anon 5\ninactive_file {_GIB}\nfile 7',
    }
    with (
      mock.patch.object(
        resources,
        '_read',
        autospec=True,
        side_effect=lambda path: files.get(path.name, ''),
      ),
      mock.patch.object(
        psutil, 'virtual_memory', autospec=True
      ) as virtual_memory,
    ):
      virtual_memory.return_value.available = 100 * _GIB
      self.assertEqual(resources.available_bytes(), 2 * _GIB)

  def test_a_containers_share_of_the_cores(self):
    with (
      mock.patch.object(
        resources, '_read', autospec=True, return_value='150000 100000'
      ),
      mock.patch.object(
        os, 'sched_getaffinity', autospec=True, return_value=range(8)
      ),
    ):
      self.assertEqual(resources.usable_cores(), [0, 1])

  def test_resident_memory(self):
    self.assertGreater(resources.resident_bytes(os.getpid()), 1 << 20)
    # No process has it.
    self.assertEqual(resources.resident_bytes(2**31 - 1), 0)

  @parameterized.parameters(
    # The first run always starts.
    (0, [], [], True),
    # Measured: 2 GiB and the reserve.
    (2.5, [2], [2], True),
    (2.1, [2], [2], False),
    # The other one is still to grow by one.
    (2.5, [2], [1], False),
    (3.5, [2], [1], True),
    # It has grown beyond what was measured.
    (2.5, [2], [3], True),
    # Nothing measured: as much as the largest, or the first guess.
    (3.5, [], [3], True),
    (3.1, [], [3], False),
    (2.5, [], [0.5], True),
    (1.5, [], [0.5], False),
  )
  def test_memory(self, available, peaks, running, expected):
    with mock.patch.object(
      resources,
      'available_bytes',
      autospec=True,
      return_value=available * _GIB,
    ):
      peaks = [peak * _GIB for peak in peaks]
      running = [now * _GIB for now in running]
      limit = resources.MemoryLimit()
      self.assertEqual(limit.allows(peaks, running), expected)
      self.assertTrue(resources.MemoryLimit(False).allows(peaks, running))

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

  @parameterized.parameters(
    # Nothing measured: 1 GiB for each, and the reserve.
    (2.1, 2, [], False),
    (2.5, 2, [], True),
    # The largest of the measured ones.
    (4.5, 2, [1, 2], True),
    (4.5, 3, [1, 2], False),
  )
  def test_memory(self, memory, num_runs, peaks, expected):
    found = resources.has_room(
      memory * _GIB, num_runs, [peak * _GIB for peak in peaks]
    )
    self.assertEqual(found, expected)

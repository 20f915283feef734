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
  def test_no_two_workers_take_a_core(self):
    # Cores that the machine lacks: no sweep beside this test takes them.
    cores = [9001, 9002, 9003]
    self.enter_context(
      mock.patch.object(
        resources, 'usable_cores', autospec=True, return_value=cores
      )
    )
    taken = []
    for number, expected in ((2, cores[:2]), (1, cores[2:])):
      locks, found = resources.take_cores(number)
      taken.append(locks)
      self.assertEqual(found, expected)
    # None is free: workers share cores, but not all of them.
    locks, found = resources.take_cores(2)
    self.assertEmpty(locks)
    self.assertLen(set(found), 2)
    self.assertContainsSubset(found, cores)
    for lock in taken[0]:
      lock.close()
    locks, found = resources.take_cores(1)
    self.assertEqual(found, cores[:1])
    for lock in (*taken[1], *locks):
      lock.close()

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

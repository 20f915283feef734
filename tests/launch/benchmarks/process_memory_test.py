# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory that is touched is counted."""

import os
import subprocess
import sys

from launch.benchmarks import process_memory
from tests import processes

from absl.testing import absltest
import numpy as np

_SIZE = 200 * 2**20


class ProcessMemoryTest(absltest.TestCase):
  def test_memory_comes_and_goes_and_its_peak_stays(self):
    before = process_memory.resident_bytes()
    array = np.ones(_SIZE, np.uint8)
    self.assertGreater(process_memory.resident_bytes(), before + 0.9 * _SIZE)
    del array
    self.assertLess(process_memory.resident_bytes(), before + 0.5 * _SIZE)
    self.assertGreater(
      process_memory.peak_resident_bytes(), before + 0.9 * _SIZE
    )

  def test_processes_that_were_started_count(self):
    code = f'a = b"1" * {_SIZE}; print(flush=True); input()'
    with subprocess.Popen(
      [sys.executable, '-c', code],
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
    ) as child:
      with processes.killed_if_hanging(child):
        child.stdout.readline()
      both = process_memory.tree_resident_bytes(os.getpid())
      own = process_memory.resident_bytes()
      self.assertGreater(both, own + 0.8 * _SIZE)
      self.assertGreater(process_memory.tree_resident_bytes(child.pid), _SIZE)
      child.communicate(b'', timeout=processes.HANG_SECONDS)
    self.assertEqual(process_memory.tree_resident_bytes(child.pid), 0)


if __name__ == '__main__':
  absltest.main()

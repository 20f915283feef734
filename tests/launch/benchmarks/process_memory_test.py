# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory that is touched is counted."""

from launch.benchmarks import process_memory

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


if __name__ == '__main__':
  absltest.main()

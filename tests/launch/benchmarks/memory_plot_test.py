# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The plot shows the samples, from zero."""

import pathlib

from fedfish_tff import errors
from launch.benchmarks import memory_growth
from launch.benchmarks import memory_plot

from absl.testing import absltest
import numpy as np


class MemoryPlotTest(absltest.TestCase):
  def test_plot(self):
    samples = [memory_growth.Sample(i, i * 10**6) for i in range(1, 21)]
    (axis,) = memory_plot.plot_memory(samples).axes
    (line,) = axis.get_lines()
    np.testing.assert_allclose(line.get_ydata(), np.arange(1, 21))
    self.assertEqual(axis.get_ylim()[0], 0)
    path = pathlib.Path(self.create_tempdir().full_path, 'memory.svg')
    memory_plot.check_path(path)
    memory_plot.draw(samples, path)
    self.assertIn('<svg', path.read_text())

  def test_bad_paths(self):
    for path in ('memory', 'memory.jpg', 'no/such/folder/memory.png'):
      with self.assertRaisesRegex(errors.InputError, path):
        memory_plot.check_path(pathlib.Path(path))


if __name__ == '__main__':
  absltest.main()

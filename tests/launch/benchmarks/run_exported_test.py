# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is exported runs in an environment without this package."""

import json
import pathlib
import subprocess

from fedfish_tff.execution.pjrt import device_client
from tests.execution.pjrt import accelerator
from tests.launch import binary_runner

from absl.testing import parameterized
import numpy as np
import pytest


def _export(folder, workload):
  outcome = binary_runner.run_here(
    'launch.benchmarks.accelerator',
    f'--export_dir={folder}',
    f'--workloads={workload}',
    '--clients=3',
    '--vectorized_clients=2',
  )
  assert outcome.code == 0, outcome.stderr


def _run(folder):
  """Returns the exit code and the measured rows."""
  done = subprocess.run(
    [device_client.default_python(), '-I', 'run_exported.py', '.']
    + ['--repeats=1'],
    cwd=folder,
    env={'JAX_PLATFORMS': 'cpu'},
    capture_output=True,
    text=True,
    check=False,
  )
  return done.returncode, json.loads(done.stdout.splitlines()[-1])['workloads']


class RunExportedTest(accelerator.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path, 'exported')

  def _check(self, workload):
    """The program and the bare loop come to what TensorFlow came to."""
    _export(self.folder, workload)
    code, rows = _run(self.folder)
    self.assertEqual(code, 0, rows)
    self.assertEqual(list(rows), [workload])
    self.assertGreater(rows[workload]['bare']['seconds'], 0)

  def test_softmax(self):
    self._check('softmax')
    # Others than the program's are noticed, and so are others than the loop's.
    path = self.folder / 'softmax.npz'
    with np.load(path) as arrays:
      arrays = dict(arrays)
    for name, kind in (('result_0', 'program'), ('expected_0', 'bare')):
      with self.subTest(kind):
        np.savez(path, **{**arrays, name: arrays[name] * 1.1 + 1e-3})
        code, rows = _run(self.folder)
        self.assertEqual(code, 1)
        self.assertGreater(rows['softmax'][kind]['difference'], 5e-4)

  @parameterized.parameters('compact_cnn', 'transformer')
  @pytest.mark.thorough
  def test_others(self, workload):
    self._check(workload)

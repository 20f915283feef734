# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounds of the cohort context give the same bits in every process."""

import os
import subprocess
import sys

from tests import processes

from absl.testing import absltest
import pytest

pytestmark = pytest.mark.thorough


# Runs in a process of its own: prints a digest of a round's results.
_PROGRAM = """
import os, sys
cores = int(sys.argv[1])
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
from fedfish_tff.execution import cohort_context
from fedfish_tff.execution import contexts
contexts.set_default_context(max_concurrent_computation_calls=cores
)
from tests.execution import learning_models, learning_rounds
# Draws, and sums whose order would depend on the number of threads.
run = learning_rounds.ROUNDS['fed_fish_sampled_label'](
  learning_models.MODELS['cnn'], 'functional'
)
print(learning_rounds.digest(run()))
"""


class ProcessesTest(absltest.TestCase):
  def test_one_core_and_two(self):
    if not hasattr(os, 'sched_getaffinity'):
      self.skipTest('The cores of a process cannot be chosen here.')
    if len(os.sched_getaffinity(0)) < 2:
      self.skipTest('There is one core only.')
    outputs = [
      subprocess.run(
        [sys.executable, '-c', _PROGRAM, cores],
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        timeout=processes.HANG_SECONDS,
        check=True,
        text=True,
      ).stdout.splitlines()
      for cores in ('1', '2')
    ]
    self.assertLen(outputs[0], 1)
    self.assertEqual(outputs[0], outputs[1])

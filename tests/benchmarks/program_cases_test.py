# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The programs that the comparison with TFF's own runtime times."""

from benchmarks import program_cases
from fedfish_tff import execution

from absl.testing import absltest
import pytest
import tensorflow_federated as tff


class ProgramCasesTest(absltest.TestCase):
  def test_every_algorithm_is_there(self):
    self.assertContainsSubset(
      {n for n in dir(tff.learning.algorithms) if n.startswith('build_')},
      program_cases.CASES['tff.learning.algorithms'],
    )

  @pytest.mark.slow
  def test_all_run(self):
    context = execution.create_context()
    with tff.framework.get_context_stack().install(context):
      for group in program_cases.CASES.values():
        for name, make in group.items():
          with self.subTest(name):
            make()()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""TFF's own tests: those that pass in its runtime also pass here."""

import pathlib
import textwrap

from tests import local_data
from tests.execution import tff_tests

from absl.testing import absltest
from absl.testing import parameterized
import pytest

_FOLDER = 'tensorflow_federated/python'


def _compare(
  sources: pathlib.Path, tests: list[str]
) -> tuple[list[str], list[str]]:
  """Returns the tests that fail here, and those of them that fail in TFF."""
  here = tff_tests.find_failures(sources, tests, 'cohort')
  if not here:
    return [], []
  return here, tff_tests.find_failures(sources, here, 'local_worker')


class TffTestsTest(parameterized.TestCase):
  @parameterized.parameters(
    'aggregators', 'analytics', 'core/backends/mapreduce', 'learning'
  )
  @pytest.mark.slow
  @pytest.mark.timeout(0)  # Each process has a limit.
  def test_passes_here_too(self, folder):
    sources = local_data.find_sample('tensorflow_federated')
    self.assertEqual(*_compare(sources, [f'{_FOLDER}/{folder}']))

  @pytest.mark.slow
  def test_difference_is_found(self):
    sources = pathlib.Path(self.create_tempdir().full_path)
    folder = sources / _FOLDER / 'aggregators'
    folder.mkdir(parents=True)
    (folder / 'not_in_the_wheel.py').write_text('ZERO = 0.0\n')
    (folder / 'some_test.py').write_text(
      textwrap.dedent("""
        import math
        import numpy as np
        import tensorflow_federated as tff
        from tensorflow_federated.python.aggregators import not_in_the_wheel

        @tff.tensorflow.computation(np.float32)
        def product(x):
          return x * not_in_the_wheel.ZERO

        def test_here():
          assert math.isnan(product(math.nan))

        def test_in_tff():
          assert product(math.nan) == 0

        def test_nowhere():
          assert product(1.0) == 1
      """)
    )
    here, there = _compare(sources, [_FOLDER])
    name = f'{_FOLDER}/aggregators/some_test.py::test_'
    self.assertEqual(here, [f'{name}in_tff', f'{name}nowhere'])
    self.assertEqual(there, [f'{name}nowhere'])


if __name__ == '__main__':
  absltest.main()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of packages that import a module when it is needed."""

import subprocess
import sys

import fedfish_tff.evaluation
import fedfish_tff.simulation

from absl.testing import absltest

# Of every package a symbol, which the others do not need.
_PACKAGES = (
  'aggregators',
  'algorithms',
  'client_work',
  'datasets',
  'evaluation',
  'execution',
  'models',
  'simulation',
)


class LazyTest(absltest.TestCase):
  def test_packages_are_imported_without_tensorflow(self):
    names = ', '.join(f'fedfish_tff.{name}' for name in _PACKAGES)
    program = (
      f'import sys, {names}\n'
      'from fedfish_tff import choices\n'
      'from fedfish_tff.simulation import read_rows\n'
      'assert choices.Direction("largest") is choices.Direction.LARGEST\n'
      'print({"tensorflow", "tensorflow_federated"} & set(sys.modules))'
    )
    found = subprocess.run(
      [sys.executable, '-c', program],
      capture_output=True,
      text=True,
      check=True,
      timeout=300,
    )
    self.assertEqual(found.stdout, 'set()\n')

  def test_symbols_are_those_of_their_modules(self):
    from fedfish_tff.evaluation import paired_comparison

    self.assertIs(
      fedfish_tff.evaluation.compare_paired, paired_comparison.compare_paired
    )
    self.assertContainsSubset(
      ['compare_paired', 'worst_tenth', '__name__'],
      dir(fedfish_tff.evaluation),
    )

  def test_a_symbol_that_is_not_there(self):
    with self.assertRaises(AttributeError):
      _ = fedfish_tff.simulation.read_row
    self.assertFalse(hasattr(fedfish_tff.simulation, 'TYPE_CHECKED'))

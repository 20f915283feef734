# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow and TFF work together once fedfish_tff has been imported."""

import ast
import importlib.util
import inspect
import json
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import fedfish_tff  # noqa: F401  Before TensorFlow.
from tests import processes

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff
import tensorflow_privacy

_HAS_ESTIMATORS = importlib.util.find_spec('tensorflow_estimator') is not None


class DpQueriesTest(absltest.TestCase):
  def test_are_those_that_the_package_itself_exports(self):
    path = importlib.util.find_spec('tensorflow_privacy').origin
    with open(path, encoding='utf-8') as file:
      tree = ast.parse(file.read())
    imports = [node for node in ast.walk(tree) if type(node) is ast.ImportFrom]
    names = [
      (node.module, alias.name)
      for node in imports
      if '.dp_query' in node.module
      for alias in node.names
    ]
    self.assertGreater(len(names), 15)
    for module, name in names:
      exported = getattr(tensorflow_privacy, name)
      found = getattr(importlib.import_module(module), name)
      self.assertIs(exported, found)

  def test_of_ranges_is_built(self):
    query = tensorflow_privacy.TreeRangeSumQuery.build_central_gaussian_query(
      l2_norm_clip=1.0, stddev=0.0, arity=2
    )
    state = query.initial_global_state()
    self.assertEqual(state.arity, 2)

  def test_aggregate_in_tff(self):
    factory = tff.aggregators.DifferentiallyPrivateFactory.gaussian_fixed(
      noise_multiplier=1e-6, clients_per_round=2.0, clip=10.0
    )
    process = factory.create(tff.TensorType(np.float32))
    output = process.next(process.initialize(), [1.0, 2.0])
    self.assertAlmostEqual(float(output.result), 1.5, places=4)


# Prints, after an import, what of the process is another than before.
_CHANGES = """
import atexit, builtins, json, logging, os, signal, sys, threading, warnings

def look():
  return {
    'environment': dict(os.environ),
    'warnings': [str(f) for f in warnings.filters],
    'finders': [f'{type(f).__module__}.{type(f).__name__}' for f in sys.meta_path],
    'path': [*sys.path, len(sys.path_hooks)],
    'exit handlers': atexit._ncallbacks(),
    'signals': [str(signal.getsignal(n)) for n in signal.valid_signals()],
    'threads': threading.active_count(),
    'files': len(os.listdir('/proc/self/fd')),
    'hooks': [str(sys.excepthook), str(threading.excepthook)],
    'logging': [logging.root.level, str(logging.root.handlers)],
    'built-ins': sorted(vars(builtins)),
    'processes': open(f'/proc/self/task/{os.getpid()}/children').read(),
  }

before = look()
import fedfish_tff
after = look()
heavy = ['numpy', 'tensorflow', 'tensorflow_federated', 'keras']
print(json.dumps([
  {k: [before[k], after[k]] for k in after if after[k] != before[k]},
  [name for name in heavy if name in sys.modules],
]))
"""


class ImportTest(absltest.TestCase):
  def test_changes_no_more_than_tff_needs(self):
    result = processes.run_program(_CHANGES)
    changes, heavy = json.loads(result.stdout)
    self.assertEmpty(heavy)
    before, after = changes.pop('finders')
    # AutoGraph's loader, and on today's stack what TFF uses of others.
    self.assertEqual(after, ['fedfish_tff.import_setup._Finder', *before])
    if not _HAS_ESTIMATORS:
      before, after = changes.pop('environment')
      self.assertEqual(after, before | {'TF_USE_LEGACY_KERAS': '1'})
    self.assertEmpty(changes)

  @unittest.skipUnless(_HAS_ESTIMATORS, 'TFF needs changes of others.')
  def test_changes_only_autograph_on_the_stack_of_tff(self):
    result = processes.run_program(
      'from fedfish_tff import import_setup\nprint(*import_setup._CHANGES)\n'
    )
    self.assertEqual(result.stdout, 'tensorflow.python.autograph.pyct.loader\n')


_FIRST_TENSORFLOW = """
import tensorflow as tf
import fedfish_tff
from tensorflow.keras import layers
import tensorflow_federated as tff
assert layers.Dense is tf.keras.layers.Dense
model = tf.keras.Sequential([layers.Dense(1, input_shape=(2,))])
tff.learning.models.functional_model_from_keras
print(model.count_params())
import tempfile
tempfile.tempdir = '/dev/null'
@tf.function(autograph=True)
def double_if_positive(x):
  if x > 0:
    x = 2 * x
  return x
print(float(double_if_positive(tf.constant(3.0))))
"""


class OrderTest(absltest.TestCase):
  """Each program in a process of its own."""

  def test_tensorflow_may_come_first(self):
    # A file, whose source AutoGraph reads.
    program = self.create_tempfile('program.py', _FIRST_TENSORFLOW).full_path
    result = subprocess.run(
      [sys.executable, program],
      env={**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))},
      capture_output=True,
      text=True,
      timeout=processes.HANG_SECONDS,
    )
    self.assertEqual(result.stdout, '3\n6.0\n', result.stderr)

  @pytest.mark.thorough
  @unittest.skipIf(_HAS_ESTIMATORS, 'Keras 3 came with a later TensorFlow.')
  def test_keras_3_is_refused(self):
    result = processes.run_program(
      'import tensorflow as tf\ntf.keras.layers.Dense\nimport fedfish_tff\n',
      check=False,
    )
    self.assertEqual(result.returncode, 1)
    self.assertEndsWith(
      result.stderr,
      'ImportError: fedfish_tff must be imported before tf.keras is used: '
      'TensorFlow Federated needs Keras 2, and tf.keras is Keras 3 already. '
      'Restart Python and import fedfish_tff first, or set '
      'TF_USE_LEGACY_KERAS=1.\n',
    )

  @pytest.mark.thorough
  @unittest.skipIf(_HAS_ESTIMATORS, 'TFF can be imported alone.')
  def test_tff_first_is_refused(self):
    # As the .pth file of the environment has it.
    result = processes.run_program(
      'import fedfish_tff_first\n'
      'try:\n'
      '  import tensorflow_federated\n'
      'except ImportError as error:\n'
      '  print(error)\n'
      'import fedfish_tff\n'
      'import sys, tensorflow_federated\n'
      'print(tensorflow_federated.__version__, "keras" in sys.modules)\n',
      check=False,
    )
    # Keras 3, which nothing needs, would take a second.
    self.assertEqual(
      result.stdout,
      'fedfish_tff must be imported before tensorflow_federated, which cannot '
      'be imported alone with a TensorFlow after 2.15.\n'
      f'{tff.__version__} False\n',
      result.stderr,
    )


def _fail_if_positive(x):
  if x > 0:
    tf.ensure_shape(tf.zeros([2]), [3])
  return x


class GeneratedCodeTest(absltest.TestCase):
  """Code that AutoGraph generates stays in memory."""

  def test_it_needs_no_file(self):
    # Of a folder that is none: TensorFlow cannot write there.
    with mock.patch.object(tempfile, 'tempdir', os.devnull):
      generated = tf.autograph.to_graph(_fail_if_positive)
      with self.assertRaisesRegex(
        ValueError, r'import_setup_test.py", line \d+, in _fail_if_positive'
      ):
        tf.function(_fail_if_positive)(tf.constant(1.0))
    self.assertStartsWith(generated.__code__.co_filename, '/dev/null/')
    # Its own lines, not those of the function around which it is.
    self.assertIn('ag__.if_stmt(', inspect.getsource(generated))
    self.assertIn('ag__.if_stmt(', tf.autograph.to_code(_fail_if_positive))

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow Federated says nothing after fedfish_tff is imported."""

from tests import processes

from absl.testing import parameterized
import psutil
import pytest

_PROGRAM = """
import fedfish_tff
import tensorflow_federated as tff
import tensorflow as tf
tf.constant(1.0) + 1.0
"""

# In TFF's own default context, which starts a server.
_DEFAULT_CONTEXT_PROGRAM = """
import fedfish_tff
import psutil
import tensorflow_federated as tff
one = tff.tensorflow.computation(lambda: 1)
assert one() == 1
for child in psutil.Process().children():
  print(child.pid)
"""


class QuietImportTest(parameterized.TestCase):
  def test_prints_nothing(self):
    result = processes.run_program(_PROGRAM)
    self.assertEqual(result.stderr, '')
    self.assertEqual(result.stdout, '')

  def test_functions_end_quietly(self):
    """Even if what TensorFlow needs to remove them is there no more."""
    result = processes.run_program(
      'import fedfish_tff\n'
      'import tensorflow as tf\n'
      'from tensorflow.python.eager.polymorphic_function import atomic_function\n'
      'function = tf.function(lambda: 1.0).get_concrete_function()\n'
      'atomic_function.RUNTIME_FUNCTION_REFS.clear()\n'
    )
    self.assertEqual(result.stderr, '')

  def test_level_of_the_environment_wins(self):
    program = (
      'import fedfish_tff, os\nprint(os.environ["TF_CPP_MIN_LOG_LEVEL"])\n'
    )
    result = processes.run_program(program, TF_CPP_MIN_LOG_LEVEL='1')
    self.assertEqual(result.stdout, '1\n')

  @pytest.mark.thorough
  @parameterized.parameters('SIG_DFL', 'SIG_IGN')
  def test_default_context_ends_with_the_process(self, handler):
    # Ignored, as it is by what a shell without job control starts with &.
    result = processes.run_program(
      'import signal\n'
      f'signal.signal(signal.SIGINT, signal.{handler})\n'
      f'{_DEFAULT_CONTEXT_PROGRAM}'
    )
    self.assertNotIn('Exception ignored', result.stderr)
    (server,) = map(int, result.stdout.split())
    self.assertFalse(psutil.pid_exists(server))

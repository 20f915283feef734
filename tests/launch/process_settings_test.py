# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow and TFF start and end without messages in a binary's process."""

from tests import processes

from absl.testing import absltest
import pytest

_SETTINGS = 'from launch import process_settings\n'


class ProcessSettingsTest(absltest.TestCase):
  @pytest.mark.thorough
  def test_prints_nothing(self):
    result = processes.run_program(
      f'{_SETTINGS}'
      'import atexit\n'
      'import fedfish_tff\n'
      'import tensorflow_federated as tff\n'
      'import tensorflow as tf\n'
      'tf.constant(1.0) + 1.0\n'
      'atexit.register(process_settings.end_quietly)\n'
    )
    self.assertEqual((result.stdout, result.stderr), ('', ''))

  @pytest.mark.thorough
  def test_functions_end_quietly(self):
    """Even if what TensorFlow needs to remove them is there no more."""
    result = processes.run_program(
      f'{_SETTINGS}'
      'import tensorflow as tf\n'
      'from tensorflow.python.eager.polymorphic_function import atomic_function\n'
      'function = tf.function(lambda: 1.0).get_concrete_function()\n'
      'atomic_function.RUNTIME_FUNCTION_REFS.clear()\n'
      'process_settings.end_quietly()\n'
    )
    self.assertEqual(result.stderr, '')

  def test_level_of_the_environment_wins(self):
    result = processes.run_program(
      f'{_SETTINGS}import os\nprint(os.environ["TF_CPP_MIN_LOG_LEVEL"])\n',
      TF_CPP_MIN_LOG_LEVEL='1',
    )
    self.assertEqual(result.stdout, '1\n')

  def test_come_before_libraries_read_them(self):
    result = processes.run_program(
      'import sys\n'
      'from launch import train\n'
      'names = list(sys.modules)\n'
      'print(names.index("launch.process_settings") < names.index("numpy"))\n'
      'print("tensorflow" in names)\n'
    )
    self.assertEqual(result.stdout, 'True\nFalse\n')

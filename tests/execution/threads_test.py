# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for threads."""

import functools
import os
import subprocess
import sys

from fedfish_tff.execution import threads
from tests import processes

from absl.testing import parameterized
import pytest

_NUM_CORES = 4
_WARNING = 'TensorFlow uses %d threads inside each operation'

# Runs each of its arguments in a fork, since TensorFlow reads the number of its
# threads once in a process, and prints what they print, one line a program.
_SERVER = """
import os, sys
from fedfish_tff.execution import contexts, threads
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

for program in sys.argv[1:]:
  reader, writer = os.pipe()
  if not os.fork():
    os.dup2(writer, 1)
    os.dup2(writer, 2)
    exec(program)
    sys.stdout.flush()
    os._exit(0)
  os.close(writer)
  with open(reader) as output:
    # Nothing may wait in the buffer that the next fork inherits.
    print(output.read().replace(os.linesep, ' '), flush=True)
"""

_USE_FOUR_CORES = f"""
os.sched_getaffinity = lambda unused_pid: range({_NUM_CORES})
"""
_CALL = """
number = tf.config.threading.get_intra_op_parallelism_threads()
threads.use_one_intra_op_thread()
threads.use_one_intra_op_thread()
print(number, tf.config.threading.get_intra_op_parallelism_threads())
"""

# The gradient of a convolution, a large sum, at two clients.
_TRAIN = """
os.sched_setaffinity(0, {cores})
contexts.set_default_context()
images = tff.TensorType(np.float32, [8, 28, 28, 4])
kernel = tff.TensorType(np.float32, [5, 5, 4, 16])
@tff.tensorflow.computation(images, kernel)
def gradient(x, w):
  with tf.GradientTape() as tape:
    tape.watch(w)
    y = tf.reduce_sum(tf.square(tf.nn.conv2d(x, w, 1, 'SAME')))
  return tape.gradient(y, w)
@tff.federated_computation(
  tff.FederatedType(images, tff.CLIENTS), tff.FederatedType(kernel, tff.SERVER)
)
def total(x, w):
  return tff.federated_sum(
    tff.federated_map(gradient, (x, tff.federated_broadcast(w)))
  )
random = np.random.default_rng(0)
result = total(
  list(random.standard_normal((2, 8, 28, 28, 4), np.float32)),
  random.standard_normal((5, 5, 4, 16), np.float32),
)
print(tf.config.threading.get_intra_op_parallelism_threads())
print(result.tobytes().hex())
"""

_CORES = sorted(os.sched_getaffinity(0))
_PROGRAMS = {
  'fresh': _USE_FOUR_CORES + _CALL,
  'late_on_one_core': (
    'os.sched_getaffinity = lambda _: [0]; tf.constant(1.0) + 1.0' + _CALL
  ),
  'chosen': 'tf.config.threading.set_intra_op_parallelism_threads(1)' + _CALL,
  'late': f'{_USE_FOUR_CORES}\ntf.constant(1.0) + 1.0{_CALL}',
  'three': f'tf.config.threading.set_intra_op_parallelism_threads(3){_CALL}',
  'two_by_environment': f'os.environ["TF_NUM_INTRAOP_THREADS"] = "2"{_CALL}',
  'train_on_one_core': _TRAIN.format(cores=_CORES[:1]),
  'train': _TRAIN.format(cores=_CORES),
}


@functools.cache
def _outputs():
  """Runs all programs, since their imports take most of the time."""
  environment = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith('TF_NUM_')
  }
  environment['PYTHONPATH'] = os.pathsep.join(filter(None, sys.path))
  result = subprocess.run(
    [sys.executable, '-c', _SERVER, *_PROGRAMS.values()],
    env=environment,
    stdout=subprocess.PIPE,
    text=True,
    timeout=processes.HANG_SECONDS,
    check=True,
  )
  lines = [line.strip() for line in result.stdout.splitlines()]
  return dict(zip(_PROGRAMS, lines, strict=True))


class ThreadsTest(parameterized.TestCase):
  def test_num_cores(self):
    self.assertEqual(threads.num_cores(), len(os.sched_getaffinity(0)))

  def test_one_thread_where_none_is_chosen(self):
    outputs = _outputs()
    self.assertEqual(outputs['fresh'], '0 1')
    self.assertEqual(outputs['late_on_one_core'], '0 0')
    self.assertEqual(outputs['chosen'], '1 1')

  @pytest.mark.thorough
  def test_more_threads_are_left_alone_with_one_warning(self):
    for name, threads_used, numbers in (
      ('late', _NUM_CORES, '0 0'),
      ('three', 3, '3 3'),
      ('two_by_environment', 2, '0 0'),
    ):
      output = _outputs()[name]
      self.assertEqual(output.count('TensorFlow uses'), 1, output)
      self.assertIn(_WARNING % threads_used, output)
      self.assertIn(numbers, output)

  def test_same_bits_on_one_core_and_on_all(self):
    one, all_cores = (_outputs()[n] for n in ('train_on_one_core', 'train'))
    self.assertRegex(one, '^1 [0-9a-f]{1000}')
    self.assertEqual(one, all_cores)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C inside a round of long graphs, in a real process."""

import os
import signal
import subprocess
import sys
import time

from tests import processes

from absl.testing import parameterized
import psutil
import pytest

pytestmark = pytest.mark.thorough

# A round of many epochs: hours of work in one call of a graph.
_PROGRAM = """
import threading
from fedfish_tff.execution import contexts
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

element = tff.TensorType(np.float32, [None, 100])

@tff.tensorflow.computation(tff.SequenceType(element), np.int64)
def train(data, epochs):
  step = lambda w, x: tf.tanh(w + tf.linalg.matmul(x, x, transpose_a=True))
  return tf.reduce_sum(data.repeat(epochs).reduce(tf.zeros([100, 100]), step))

@tff.federated_computation(
  tff.FederatedType(tff.SequenceType(element), tff.CLIENTS),
  tff.FederatedType(np.int64, tff.SERVER),
)
def next_round(data, epochs):
  return tff.federated_sum(
    tff.federated_map(train, (data, tff.federated_broadcast(epochs)))
  )

endless = tff.tensorflow.computation(
  lambda: tf.data.Dataset.range(7).repeat().reduce(np.int64(0), tf.maximum)
)

@tff.federated_computation
def never_end():
  return tff.federated_sum(tff.federated_eval(endless, tff.CLIENTS))

context = contexts.create_context(default_num_clients=3)
clients = [[np.ones([n, 100], np.float32)] * 3 for n in (10, 7, 10)]
with tff.framework.get_context_stack().install(context):
  next_round(clients, 1)  # Compiles.
  print('begins', flush=True)
  try:
    LONG_ROUND
  except KeyboardInterrupt:
    print('interrupted', flush=True)
  print(list(context.runner.general_path_reasons))
  print([t.name for t in threading.enumerate() if 'cohort' in t.name])
  print(float(next_round(clients, 1)) > 0, flush=True)
"""


class InterruptTest(parameterized.TestCase):
  @parameterized.parameters('next_round(clients, 10**9)', 'never_end()')
  def test_a_long_round(self, call):
    with processes.interruptible_children():
      process = subprocess.Popen(
        [sys.executable, '-c', _PROGRAM.replace('LONG_ROUND', call)],
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
      )
    self.addCleanup(process.kill)
    self.enter_context(processes.killed_if_hanging(process))
    self.assertEqual(process.stdout.readline(), 'begins\n')
    # In the midst of the round, which takes all the time of a core.
    cpu_times = psutil.Process(process.pid).cpu_times
    start = cpu_times().user
    while cpu_times().user < start + 1.0:
      self.assertIsNone(process.poll())
      time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=processes.HANG_SECONDS)
    self.assertEqual(output.splitlines(), ['interrupted', '[]', '[]', 'True'])
    self.assertEqual(process.returncode, 0)

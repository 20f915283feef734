# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C inside a round that runs as one long graph, in a real process."""

import os
import signal
import subprocess
import sys
import time

from tests import processes

from absl.testing import absltest
import psutil
import pytest

pytestmark = pytest.mark.thorough

# A round of many epochs: hours of work in one call of a graph.
_PROGRAM = """
import threading, time
from fedfish_tff.execution import cohort_context
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

context = cohort_context.SyncCohortExecutionContext()
clients = [[np.ones([n, 100], np.float32)] * 3 for n in (10, 7, 10)]
with tff.framework.get_context_stack().install(context):
  next_round(clients, 1)  # Compiles.
  print('begins', flush=True)
  try:
    next_round(clients, 10**9)
  except KeyboardInterrupt:
    print('interrupted', flush=True)
  print(list(context.general_path_reasons))
  print([t.name for t in threading.enumerate() if 'cohort' in t.name])
  print(float(next_round(clients, 1)) > 0, flush=True)
"""


class InterruptTest(absltest.TestCase):
  def test_a_long_graph(self):
    with processes.interruptible_children():
      process = subprocess.Popen(
        [sys.executable, '-c', _PROGRAM],
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

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A round is handed to another package, here NumPy, and checked there."""

import pathlib
import sys
from unittest import mock

from benchmarks import peer_rounds
from benchmarks import rounds
from benchmarks import workloads
from fedfish_tff import errors

from absl.testing import absltest

# FedAvg of softmax regression, of clients of one size.
_NUMPY_PEER = """
import sys
from benchmarks.peers import peer_timing
import numpy as np

task = dict(np.load(sys.argv[1]))
ends = []
for x, y in zip(task['x'], task['y']):
  kernel, bias = (w.astype(np.float64) for w in peer_timing.weights_of(task))
  for i in range(0, len(y), int(task['batch_size'])):
    batch = x[i : i + int(task['batch_size'])]
    labels = y[i : i + int(task['batch_size'])]
    logits = batch @ kernel + bias
    error = np.exp(logits - logits.max(1, keepdims=True))
    error /= error.sum(1, keepdims=True)
    error[np.arange(len(labels)), labels] -= 1
    error *= task['learning_rate'] / len(labels)
    kernel, bias = kernel - batch.T @ error, bias - error.sum(0)
  ends.append((kernel, bias))
peer_timing.check(task, [np.mean(w, 0) * {factor} for w in zip(*ends)])
peer_timing.report([3.0, 1.0, 2.0], NumPy='numpy')
"""


class PeerRoundsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._scripts = pathlib.Path(self.create_tempdir())
    self.enter_context(mock.patch.object(peer_rounds, 'SCRIPTS', self._scripts))
    clients = rounds.NETWORKS['softmax'].generate_clients(3)
    built = rounds.Rounds(workloads.WORKLOADS['softmax'], clients)
    self.addCleanup(built.close)
    self._task = str(self._scripts / 'round.npz')
    built.write_task(self._task, built.build('bare')()(), repeats=2)

  def _measure(self, factor):
    script = self._scripts / 'fedjax_round.py'
    script.write_text(_NUMPY_PEER.replace('{factor}', str(factor)))
    return peer_rounds.measure('fedjax', sys.executable, self._task)

  def test_the_same_round(self):
    result = self._measure(1.0)
    self.assertEqual(result.seconds, 2.0)
    self.assertRegex(result.versions, r'^NumPy \d')

  def test_another_round(self):
    with self.assertRaisesRegex(RuntimeError, 'Weights 0 are others'):
      self._measure(1.01)


class InterpretersTest(absltest.TestCase):
  def test_by_name(self):
    self.assertEqual(
      peer_rounds.parse_interpreters([f'pfl={sys.executable}']),
      {'pfl': sys.executable},
    )

  def test_bad_ones(self):
    for value, message in (
      ('flower=python', "'flower'"),
      ('pfl=/no/such/python', '/no/such/python'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        peer_rounds.parse_interpreters([value])

  def test_each_has_a_script_and_requirements(self):
    for name in peer_rounds.PEERS:
      self.assertTrue((peer_rounds.SCRIPTS / f'{name}_round.py').exists())
      self.assertTrue((peer_rounds.SCRIPTS / f'{name}.txt').exists())

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for ray_cluster, of what goes to actors, and of its meter."""

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys

from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import sequence_packing
from fedfish_tff.execution.ray import ray_cluster
from fedfish_tff.execution.ray import round_meter
from fedfish_tff.execution.ray import stage_values
from tests import processes
from tests.execution.ray import ray_test_case

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import psutil
import pytest
import tensorflow as tf
import tensorflow_federated as tff


class AddressTest(parameterized.TestCase):
  @parameterized.parameters('here', 'host:', ':80', 'ray://host', 'host:port')
  def test_is_no_address(self, address):
    with self.assertRaisesRegex(
      ray_cluster.RayError, 'address of a Ray cluster'
    ):
      ray_cluster.RayCluster(address)

  def test_nobody_answers(self):
    with contextlib.closing(socket.socket()) as bound:
      # Bound, but nobody listens.
      bound.bind(('127.0.0.1', 0))
      address = f'127.0.0.1:{bound.getsockname()[1]}'
      with self.assertRaisesRegex(ray_cluster.RayError, f'at {address}'):
        ray_cluster.RayCluster(address)


class LocalClusterTest(ray_test_case.TestCase):
  @pytest.mark.thorough
  def test_a_process_that_ray_ends_is_not_silent(self):
    cluster = ray_cluster.RayCluster()
    self.addCleanup(cluster.stop)
    gcs_address = cluster.ray.get_runtime_context().gcs_address
    for address, last_word, is_said in (
      (gcs_address, 'os._exit(1)', True),
      (gcs_address, 'cluster.stop()', False),
      # One of its own.
      (None, 'print(cluster.folder, flush=True)\nos._exit(1)', True),
    ):
      ended = subprocess.run(
        [
          sys.executable,
          '-c',
          'import os\nfrom fedfish_tff.execution.ray import ray_cluster\n'
          f'cluster = ray_cluster.RayCluster({address!r})\n{last_word}',
        ],
        capture_output=True,
        timeout=processes.HANG_SECONDS,
        text=True,
      )
      self.assertEqual('node on this machine' in ended.stderr, is_said)
    self.assertFalse(os.path.exists(ended.stdout.strip()))

  @pytest.mark.thorough
  def test_listens_on_loopback_and_leaves_nothing(self):
    handlers = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)]
    own = psutil.Process()
    # Devices of other tests' contexts, which this process keeps.
    others = set(own.children(recursive=True))
    others_listening = _listening([own])
    cluster = ray_cluster.RayCluster()
    with contextlib.ExitStack() as stack:
      stack.callback(cluster.stop)
      self.assertEqual(
        [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)], handlers
      )
      folder = cluster.folder
      self.assertTrue(os.path.exists(folder))
      started = [p for p in own.children(recursive=True) if p not in others]
      self.assertNotEmpty(started)
      listening = _listening([own, *started]) - others_listening
      self.assertNotEmpty(listening)
      self.assertContainsSubset(
        {host for host, _ in listening},
        {'127.0.0.1', '::1', '::ffff:127.0.0.1'},
      )
    _, running = psutil.wait_procs(started, timeout=processes.HANG_SECONDS)
    self.assertEmpty(running)
    self.assertFalse(os.path.exists(folder))


def _listening(of):
  """Returns the hosts and ports that processes listen on."""
  found = set()
  for process in of:
    # Some end meanwhile.
    with contextlib.suppress(psutil.Error):
      found |= {
        tuple(connection.laddr)
        for connection in process.net_connections('inet')
        if connection.status == psutil.CONN_LISTEN
      }
  return found


class RoundMeterTest(ray_test_case.TestCase):
  def test_counts_from_one_call_to_the_next(self):
    meter = round_meter.RoundMeter(ray_cluster.import_ray(is_local=True))
    self.assertEmpty(meter.take())
    meter.add_sent(100)
    meter.add_share(0, round_meter.ShareCost('here', 3, 0.5, 2000), 10)
    meter.add_share(1, round_meter.ShareCost('here', 4, 0.0, 1000), 5)
    columns = dict(meter.take())
    self.assertGreater(columns.pop('time/clients_per_second'), 0)
    self.assertEqual(
      columns,
      {
        'time/sent_bytes': 100,
        'time/received_bytes': 15,
        'time/most_actor_bytes': 2000,
      },
    )
    self.assertEmpty(meter.take())


_TYPE = tff.to_type(
  (
    np.float32,
    [('text', tff.TensorType(np.str_, [2])), ('n', np.int64)],
    tff.SequenceType(tff.TensorType(np.float32, [None, 2])),
  )
)


def _travel(value, type_spec):
  arrays = stage_values.to_arrays(
    value, type_spec, sequence_packing.pack_sequence
  )
  # As Ray sends them.
  return pickle.loads(pickle.dumps(arrays))


class StageValuesTest(absltest.TestCase):
  def test_arrive_as_they_were(self):
    batches = [np.ones([2, 2], np.float32), np.zeros([1, 2], np.float32)]
    value = (
      tf.constant(1.5),
      (tf.constant([b'a\0', b'']), tf.constant(7, tf.int64)),
      tf.data.Dataset.from_tensor_slices(np.ones([3, 2], np.float32)).batch(2),
    )
    arrays = _travel(value, _TYPE)
    self.assertEqual(stage_values.num_rows([arrays]), 3)
    number, (text, count), sequence = stage_values.to_value(arrays, _TYPE)
    self.assertEqual(number.numpy(), 1.5)
    self.assertEqual(list(text.numpy()), [b'a\0', b''])
    self.assertEqual((count.dtype, count.numpy()), (tf.int64, 7))
    found = list(sequence.to_dataset(_TYPE[2].element))
    for batch, shape in zip(found, [b.shape for b in batches], strict=True):
      np.testing.assert_array_equal(batch, np.ones(shape))

  def test_sequences_that_are_no_arrays(self):
    type_spec = tff.SequenceType(tff.TensorType(np.float32, [None, 2]))
    ragged = tf.data.Dataset.from_generator(
      lambda: iter([np.ones([1, 2]), np.ones([1, 3])]),
      output_signature=tf.TensorSpec([None, None], tf.float32),
    )
    with self.assertRaises((packed_sequences.PackingError, TypeError)):
      _travel(ragged, type_spec)

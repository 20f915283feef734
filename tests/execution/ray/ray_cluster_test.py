# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for ray_cluster: addresses, and what is left of a cluster."""

import contextlib
import os
import signal
import socket
import subprocess
import sys

from fedfish_tff.execution.ray import ray_cluster
from tests import processes
from tests.execution.ray import ray_test_case

from absl.testing import parameterized
import psutil
import pytest


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

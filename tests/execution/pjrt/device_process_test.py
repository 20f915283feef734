# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The program device_process, by itself; device_client_test speaks with it."""

import json
import multiprocessing
import pathlib
import signal
import subprocess

from fedfish_tff.execution.pjrt import device_client
from tests import processes
from tests.execution.pjrt import accelerator


class DeviceProcessTest(accelerator.TestCase):
  def test_ends_with_the_pipe(self):
    own, other = multiprocessing.Pipe()
    script = pathlib.Path(device_client.__file__).with_name('device_process.py')
    with subprocess.Popen(
      [
        device_client.default_python(),
        *('-I', script, str(other.fileno())),
        *('', ''),
      ],
      env={'JAX_PLATFORMS': 'cpu'},
      pass_fds=[other.fileno()],
    ) as process:
      other.close()
      with processes.killed_if_hanging(process):
        answer = json.loads(own.recv_bytes())
        own.close()
        self.assertEqual(process.wait(), -signal.SIGKILL)
    self.assertEqual(answer['platform'], 'cpu')
    self.assertLen(answer['devices'], 1)

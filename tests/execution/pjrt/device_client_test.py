# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for device_client."""

import json
import multiprocessing
import os
import pathlib
import signal
import subprocess
import threading
import time

from fedfish_tff import errors
from fedfish_tff import private_apis
from fedfish_tff.execution import interruption
from fedfish_tff.execution.pjrt import device_client
from tests import processes
from tests.execution.pjrt import accelerator

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import psutil
import tensorflow as tf

_SPEC = tf.TensorSpec([3, 4], tf.float32)


def _hlo(function, *specs):
  return private_apis.compile_to_hlo(
    tf.function(function, jit_compile=True).get_concrete_function(*specs)
  ).SerializeToString()


class AnalysisTest(accelerator.TestCase, parameterized.TestCase):
  def _start(self, **options):
    if options and not accelerator.is_installed(with_tpus=True):
      self.skipTest('make accelerator PLATFORM=tpu was not run')
    platform = 'tpu' if options else 'cpu'
    process = device_client.DeviceProcess(platform, **options)
    self.addCleanup(process.stop)
    return process

  @parameterized.parameters(({}, 1), ({'topology': 'v5e:2x2'}, 4))
  def test_a_loop_s_body_counts_once(self, options, num_devices):
    process = self._start(**options)
    self.assertEqual(process.num_devices, num_devices)
    size = 32
    analysis = process.device(0).analyze(
      _hlo(
        lambda x: tf.while_loop(
          lambda i, _: i < 7,
          lambda i, x: (i + 1, tf.sin(x @ x)),
          (tf.constant(0), x),
        )[1],
        tf.TensorSpec([size, size]),
      )
    )
    self.assertGreaterEqual(analysis.arguments, 4 * size**2)
    self.assertGreaterEqual(analysis.results, 4 * size**2)
    # Sines cost something, too: some operations each, of 1,024 numbers.
    self.assertBetween(analysis.flops, 2 * size**3, 1.3 * 2 * size**3)
    self.assertGreaterEqual(analysis.bytes_accessed, 2 * 4 * size**2)
    with self.assertRaises(device_client.ProgramError):
      process.device(0).analyze(b'nothing')

  def test_a_topology_that_does_not_exist(self):
    with self.assertRaisesRegex(errors.InputError, "topology 'v5e:9x9x9'"):
      self._start(topology='v5e:9x9x9')


class DeviceClientTest(accelerator.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # It takes a second or two to start.
    process = device_client.DeviceProcess('cpu')
    cls.addClassCleanup(process.stop)
    cls.device = process.device(0)

  def test_runs_a_program(self):
    program = self.device.compile(
      _hlo(lambda x, y: (x @ tf.transpose(y), x - y), _SPEC, _SPEC)
    )
    self.assertEqual(program.arguments, [('float32', (3, 4))] * 2)
    self.assertEqual(
      program.results, [('float32', (3, 3)), ('float32', (3, 4))]
    )
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3, 4)).astype(np.float32)
    numbers = self.device.run(program, self.device.put([x, y]))
    product, difference = self.device.fetch(numbers, program.results)
    np.testing.assert_allclose(product, x @ y.T, rtol=1e-6)
    np.testing.assert_array_equal(difference, x - y)

  def test_arrays_of_all_kinds(self):
    arrays = [
      np.zeros([0, 2], np.float64),
      np.array([True, False]),
      np.int64(2**40),
      np.arange(6).reshape(2, 3).astype(tf.bfloat16.as_numpy_dtype),
      np.arange(100_000, dtype=np.uint8),  # The memory grows.
    ]
    arrays = list(map(np.asarray, arrays))
    numbers = self.device.put(arrays)
    self.device.put([np.full([200_000], 7, np.uint8)])
    specs = [(array.dtype.name, array.shape) for array in arrays]
    for found, array in zip(
      self.device.fetch(numbers, specs), arrays, strict=True
    ):
      np.testing.assert_array_equal(found, array)
    self.device.free(numbers)
    with self.assertRaises(device_client.ProgramError):
      self.device.fetch(numbers, specs)

  def test_what_is_no_program(self):
    with self.assertRaises(device_client.ProgramError):
      self.device.compile(b'abc')
    # The device goes on.
    self.assertLen(self.device.put([np.zeros(1)]), 1)


class OwnProcessTest(accelerator.TestCase):
  def setUp(self):
    super().setUp()
    self.cache = self.create_tempdir().full_path
    self.process = device_client.DeviceProcess('cpu', cache=self.cache)
    self.addCleanup(self.process.stop)
    self.device = self.process.device(0)

  def test_compiled_programs_are_kept(self):
    hlo = _hlo(lambda x: x + 1, _SPEC)
    self.assertFalse(self.device.compile(hlo).is_kept)
    self.assertTrue(self.process.device(0).compile(hlo).is_kept)
    (file,) = os.listdir(self.cache)
    path = os.path.join(self.cache, file)
    with open(path, 'r+b') as damaged:
      damaged.seek(100)
      damaged.write(b'????')
    program = self.device.compile(hlo)
    self.assertFalse(program.is_kept)
    numbers = self.device.run(
      program, self.device.put([np.zeros([3, 4], 'f4')])
    )
    np.testing.assert_array_equal(
      self.device.fetch(numbers, program.results)[0], np.ones([3, 4])
    )

  def test_killed(self):
    os.kill(self.process.pid, signal.SIGKILL)
    with self.assertRaisesRegex(
      device_client.DeviceProcessError, 'was killed by SIGKILL'
    ):
      self.device.put([np.zeros(1)])
    self.assertFalse(self.process.is_running)

  def test_interrupted(self):
    """Ends the process, which would compute on for nobody."""
    endless = self.device.compile(
      _hlo(
        lambda x: tf.while_loop(lambda x: x < 2, lambda x: 1 - x, [x])[0],
        tf.TensorSpec([], tf.float32),
      )
    )
    zero = self.device.put([np.float32(0).reshape(())])
    started = threading.Event()

    def work():
      started.set()
      numbers = self.device.run(endless, zero)
      self.device.fetch(numbers, endless.results)

    call = interruption._Call(work)  # pylint: disable=protected-access
    call.start()
    self.assertTrue(started.wait(processes.HANG_SECONDS))
    call.stop()
    with self.assertRaises(interruption.StoppedError):
      call.future.result(timeout=processes.HANG_SECONDS)
    self.assertFalse(self.process.is_running)

  def test_nothing_is_open(self):
    child = psutil.Process(self.process.pid)
    self.assertEmpty(child.net_connections())
    self.process.stop()
    deadline = time.monotonic() + processes.HANG_SECONDS
    while child.is_running() and time.monotonic() < deadline:
      time.sleep(0.01)
    self.assertFalse(child.is_running())


class DeviceProcessErrorsTest(accelerator.TestCase):
  def test_no_such_device(self):
    with self.assertRaisesRegex(
      errors.InputError, "finds no device of the platform 'tpu'"
    ):
      device_client.DeviceProcess('tpu')

  def test_unknown_platform(self):
    with self.assertRaisesRegex(errors.InputError, "platform .*'rocket'"):
      device_client.DeviceProcess('rocket')

  def test_python_without_jax(self):
    # Nothing but a program that ends at once.
    with self.assertRaisesRegex(
      device_client.DeviceProcessError, 'exited with code 1'
    ):
      device_client.DeviceProcess('cpu', python='/bin/false')


class EnvironmentTest(absltest.TestCase):
  def test_missing(self):
    with self.assertRaisesRegex(
      errors.InputError, 'make accelerator PLATFORM=cuda13'
    ):
      device_client.DeviceProcess('cuda', python='/nowhere/bin/python')


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

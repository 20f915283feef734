# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for local_worker_executors."""

import asyncio
import os
import socket
import stat
from unittest import mock

from fedfish_tff.execution.worker import local_worker_executors

from absl.testing import absltest
import grpc
import numpy as np
import psutil
import tensorflow_federated as tff

_CLIENT_INTS = tff.FederatedType(np.int32, tff.CLIENTS)


class LocalWorkerExecutorFactoryTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._factory = local_worker_executors.LocalWorkerExecutorFactory(
      default_num_clients=2,
      max_concurrent_computation_calls=1,
    )
    self.addCleanup(self._factory.close)
    # Other tests of this process may have a default context with a worker.
    self._others = set(psutil.Process().children())

  def _children(self) -> set[psutil.Process]:
    return set(psutil.Process().children()) - self._others

  def _program(self, code: str) -> str:
    path = self.create_tempfile(content='#!/bin/sh\n' + code).full_path
    os.chmod(path, stat.S_IRWXU)
    return path

  def _assert_start_fails(self, binary: str, message: str):
    with mock.patch.object(
      local_worker_executors,
      '_worker_binary',
      autospec=True,
      return_value=binary,
    ):
      with self.assertRaisesRegex(
        local_worker_executors.LocalWorkerError, message
      ):
        self._factory.create_executor({tff.CLIENTS: 3})
    self.assertIsNone(self._factory.worker_pid)
    self.assertEmpty(self._children())

  def test_one_worker_and_one_executor_for_each_number_of_clients(self):
    two = self._factory.create_executor({tff.CLIENTS: 2})
    three = self._factory.create_executor({tff.CLIENTS: 3})
    pid = self._factory.worker_pid
    self.assertIsNot(two, three)
    self.assertIs(self._factory.create_executor({tff.CLIENTS: 3}), three)
    self.assertEqual(self._factory.worker_pid, pid)
    self.assertLen(self._children(), 1)

    async def round_trip(executor, values):
      value = await executor.create_value(values, _CLIENT_INTS)
      return await value.compute()

    self.assertEqual(asyncio.run(round_trip(two, [1, 2])), [1, 2])
    with self.assertRaises(grpc.RpcError):
      asyncio.run(round_trip(two, [1, 2, 3]))

  def test_cleaned_up_executor_is_replaced(self):
    executor = self._factory.create_executor({tff.CLIENTS: 3})
    self._factory.clean_up_executor({tff.CLIENTS: 3})
    self.assertIsNot(self._factory.create_executor({tff.CLIENTS: 3}), executor)

  def test_clean_up_without_a_worker(self):
    self._factory.clean_up_executor({tff.CLIENTS: 3})
    self.assertIsNone(self._factory.worker_pid)

  def test_passes_the_limit_of_calls_on(self):
    self._factory.create_executor({})
    self.assertIn(
      '--max_concurrent_computation_calls=1',
      psutil.Process(self._factory.worker_pid).cmdline(),
    )

  def test_worker_environment(self):
    with mock.patch.dict(os.environ, OMP_NUM_THREADS='7', A_SETTING='kept'):
      self._factory.create_executor({})
    environment = psutil.Process(self._factory.worker_pid).environ()
    self.assertEqual(environment['TF_NUM_INTRAOP_THREADS'], '1')
    self.assertEqual(environment['OMP_NUM_THREADS'], '1')
    self.assertEqual(environment['TF_CPP_MIN_LOG_LEVEL'], '3')
    self.assertEqual(environment['A_SETTING'], 'kept')

  def test_proxy_of_the_environment_is_not_used(self):
    proxy = 'http://127.0.0.1:1'
    with mock.patch.dict(os.environ, http_proxy=proxy, https_proxy=proxy):
      self._factory.create_executor({tff.CLIENTS: 3})
    self.assertIsNotNone(self._factory.worker_pid)

  def test_worker_that_ends_at_its_start(self):
    self._assert_start_fails(
      self._program('echo no luck; exit 3'),
      r'exited with code 3 at its start\. Its last output was:\nno luck$',
    )
    # The next call tries again.
    self._factory.create_executor({tff.CLIENTS: 3})
    self.assertIsNotNone(self._factory.worker_pid)

  def test_worker_that_never_listens(self):
    with mock.patch.object(
      local_worker_executors, '_START_TIMEOUT_SECONDS', 0.1
    ):
      self._assert_start_fails(
        self._program('exec sleep 1000'), 'did not listen .* wrote nothing'
      )

  def test_worker_that_cannot_be_executed(self):
    self._assert_start_fails(
      self.create_tempfile(content='text').full_path,
      '(?s)exited with code 1 at its start.*PermissionError',
    )

  def test_worker_binary_that_is_missing(self):
    with mock.patch.object(
      os.path, 'isfile', autospec=True, return_value=False
    ):
      with self.assertRaisesRegex(
        local_worker_executors.LocalWorkerError, 'no file .*worker_binary'
      ):
        self._factory.create_executor({})

  def test_reserved_port_is_given_to_no_one_else(self):
    reservations = [local_worker_executors._reserve_port() for _ in range(100)]
    ports = {reservation.getsockname()[1] for reservation in reservations}
    self.assertLen(ports, 100)
    with socket.socket() as other:
      with self.assertRaises(OSError):
        other.bind(('', reservations[0].getsockname()[1]))
    for reservation in reservations:
      reservation.close()

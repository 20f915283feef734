# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for runtime_errors."""

from fedfish_tff.execution.running import runtime_errors

from absl.testing import absltest
import grpc
import tensorflow as tf


class AsRpcErrorsTest(absltest.TestCase):
  def test_errors_of_tensorflow(self):
    for kind in (tf.errors.InvalidArgumentError, tf.errors.NotFoundError):
      original = kind(None, None, 'Something is wrong.')
      with self.assertRaises(grpc.RpcError) as raised:
        with runtime_errors.as_rpc_errors():
          raise original
      error = raised.exception
      self.assertIsInstance(error, kind)
      self.assertIs(error, original)
      self.assertEqual(str(error), 'Something is wrong.')
      self.assertEqual(error.details(), 'Something is wrong.')
      self.assertIs(error.code(), grpc.StatusCode.INTERNAL)

  def test_others(self):
    with self.assertRaises(TypeError) as raised:
      with runtime_errors.as_rpc_errors():
        raise TypeError('An argument is wrong.')
    self.assertNotIsInstance(raised.exception, grpc.RpcError)

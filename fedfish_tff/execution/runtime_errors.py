# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Errors of running computations, for those who expect TFF's runtime.

TFF's runtime reports what goes wrong in a computation as a `grpc.RpcError`.
Here it is that and the TensorFlow error that it comes from.
"""

from collections.abc import Iterator
import contextlib
import functools

import grpc
import tensorflow as tf


class _RpcError(grpc.RpcError):
  """What users read of the errors of TFF's runtime."""

  def code(self) -> grpc.StatusCode:
    """Returns what TFF's runtime calls all errors of TensorFlow."""
    return grpc.StatusCode.INTERNAL

  def details(self) -> str:
    """Returns the message."""
    return self.message


@functools.cache
def _rpc_kind(kind: type[tf.errors.OpError]) -> type[tf.errors.OpError]:
  return type(kind.__name__, (kind, _RpcError), {'__module__': kind.__module__})


@contextlib.contextmanager
def as_rpc_errors() -> Iterator[None]:
  """Makes TensorFlow's errors `grpc.RpcError`s as well.

  Raises:
    tf.errors.OpError: What the block raises, of a class of the same name that
      is a `grpc.RpcError` too.
  """
  try:
    yield
  except tf.errors.OpError as error:
    # The same error, with all that TensorFlow and Python noted in it.
    if not isinstance(error, grpc.RpcError):
      error.__class__ = _rpc_kind(type(error))
    raise

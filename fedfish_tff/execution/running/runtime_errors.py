# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Errors of running computations, compatible with those of TFF's runtime.

TFF's runtime reports an error in a computation as a `grpc.RpcError`. Here an
error is that and the TensorFlow error that caused it.
"""

from collections.abc import Iterator
import contextlib
import functools

import grpc
import tensorflow as tf


class _RpcError(grpc.RpcError):
  """The part of a `grpc.RpcError` that programs read."""

  def code(self) -> grpc.StatusCode:
    """Returns the code that TFF's runtime gives all errors of TensorFlow."""
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
    tf.errors.OpError: If the block raises it; its class then has the same name
      and is a `grpc.RpcError` too.
  """
  try:
    yield
  except tf.errors.OpError as error:
    # The error itself is kept, with the notes of TensorFlow and Python in it.
    if not isinstance(error, grpc.RpcError):
      error.__class__ = _rpc_kind(type(error))
    raise

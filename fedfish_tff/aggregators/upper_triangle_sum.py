# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sums of symmetric matrices of which clients send only the upper triangle.

A client sends n (n + 1) / 2 numbers of an n x n matrix instead of n^2. They are
packed as a rectangle of blocks (rectangular full packed format: Gustavson,
Wasniewski, Dongarra and Langou, ACM TOMS 37(2), 2010). This needs no indices,
which would take more memory than the matrix.
"""

import collections
from collections.abc import Sequence
from typing import Any

from fedfish_tff.aggregators import sum_factories

import tensorflow as tf
import tensorflow_federated as tff


def pack_upper_triangle(matrix: tf.Tensor) -> tf.Tensor:
  """Packs the upper triangle of a matrix; the rest is not read.

  Args:
    matrix: A matrix [n, n] of static shape, n at least 1.

  Returns:
    A matrix of n (n + 1) / 2 elements.
  """
  size = matrix.shape[0]
  half = size // 2
  corner, right, rest = (
    matrix[:half, :half],
    matrix[:half, half:],
    matrix[half:, half:],
  )
  # The lower right block's upper triangle, above the upper left block's, which
  # is transposed and moved down by one row.
  below = tf.pad(
    tf.linalg.band_part(tf.linalg.matrix_transpose(corner), -1, 0),
    [[1, 0], [0, size % 2]],
  )
  above = tf.pad(tf.linalg.band_part(rest, 0, -1), [[0, 1 - size % 2], [0, 0]])
  return tf.concat([right, above + below], axis=0)


def unpack_upper_triangle(packed: tf.Tensor) -> tf.Tensor:
  """Returns the symmetric matrix of a packed upper triangle.

  Args:
    packed: The result of `pack_upper_triangle`.

  Returns:
    The matrix, [n, n].
  """
  rows, columns = packed.shape
  half = (rows - 1) // 2
  size = half + columns
  right, triangles = packed[:half], packed[half:]
  rest = tf.linalg.band_part(triangles[:columns], 0, -1)
  corner = tf.linalg.matrix_transpose(
    tf.linalg.band_part(triangles[1:, :half], -1, 0)
  )
  upper = tf.concat(
    [
      tf.concat([corner, right], axis=1),
      tf.concat([tf.zeros([size - half, half], packed.dtype), rest], axis=1),
    ],
    axis=0,
  )
  strict = tf.linalg.set_diag(upper, tf.zeros([size], packed.dtype))
  return upper + tf.linalg.matrix_transpose(strict)


class UpperTriangleSumFactory(tff.aggregators.UnweightedAggregationFactory):
  """Sums structures with symmetric matrices by an inner factory.

  The created process takes and returns structures of the same type, with
  symmetric matrices where `symmetric` says so. The inner factory gets all
  elements as one structure, with packed upper triangles in place of those
  matrices. The measurements are the inner factory's.
  """

  def __init__(
    self,
    symmetric: Sequence[str],
    sum_factory: tff.aggregators.UnweightedAggregationFactory | None = None,
  ):
    """Initializes the factory.

    Args:
      symmetric: Names of the elements that are symmetric matrices.
      sum_factory: The aggregator of the sent values;
        `tff.aggregators.SumFactory` by default.
    """
    self._symmetric = frozenset(symmetric)
    self._sum_factory = sum_factories.unweighted_factory(sum_factory)

  def create(
    self, value_type: tff.types.StructType
  ) -> tff.templates.AggregationProcess:
    """Creates the process for a structure of named tensors.

    Those named in `symmetric` must be square matrices.
    """
    self._check(value_type)
    symmetric = self._symmetric

    @tff.tensorflow.computation(value_type)
    def pack(value):
      return collections.OrderedDict(
        (name, pack_upper_triangle(t) if name in symmetric else t)
        for name, t in value.items()
      )

    packed_type = pack.type_signature.result
    inner = self._sum_factory.create(packed_type)

    @tff.tensorflow.computation(packed_type)
    def unpack(value):
      return collections.OrderedDict(
        (name, unpack_upper_triangle(t) if name in symmetric else t)
        for name, t in value.items()
      )

    @tff.federated_computation
    def init_fn():
      return inner.initialize()

    @tff.federated_computation(
      init_fn.type_signature.result, tff.FederatedType(value_type, tff.CLIENTS)
    )
    def next_fn(state, value):
      output = inner.next(state, tff.federated_map(pack, value))
      return tff.templates.MeasuredProcessOutput(
        output.state,
        tff.federated_map(unpack, output.result),
        output.measurements,
      )

    return tff.templates.AggregationProcess(init_fn, next_fn)

  def _check(self, value_type: Any) -> None:
    expected = (
      'a structure of named tensors with square matrices called '
      f'{", ".join(sorted(self._symmetric))}'
    )
    if not isinstance(value_type, tff.types.StructType):
      raise TypeError(f'Expected {expected}, got {value_type}.')
    elements = dict(tff.structure.iter_elements(value_type))
    for name in self._symmetric:
      shape = getattr(elements.get(name), 'shape', None)
      if (
        shape is None or len(shape) != 2 or shape[0] != shape[1] or not shape[0]
      ):
        raise TypeError(f'Expected {expected}, got {value_type}.')

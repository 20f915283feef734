# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Bytes that cross the boundary between server and clients in a round."""

from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff.algorithms import client_state_process

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


class WireBytes(NamedTuple):
  """Uncompressed bytes of one client in one round.

  Attributes:
    download: From the server to one client.
    upload: From one client to the server, metrics and weights included.
  """

  download: int
  upload: int

  @property
  def total(self) -> int:
    return self.download + self.upload


def measure_wire_bytes(
  process: (
    tff.templates.IterativeProcess | client_state_process.ClientStateProcess
  ),
) -> WireBytes:
  """Measures a process' communication from its compiled types.

  The computation is compiled to a broadcast, client work and sums; the sizes
  are those of what is broadcast and of what a client gives to the sums, plain
  and secure. Nothing is run.

  Args:
    process: A process with next of type (<S@SERVER, {D}@CLIENTS> -> ...), or
      one with client states, which stay where they are.

  Returns:
    The bytes per client and round.

  Raises:
    errors.InputError: If a tensor's size is not known from its type.
  """
  round_fn = (
    process.next_without_client_states
    if isinstance(process, client_state_process.ClientStateProcess)
    else process.next
  )
  # Only types are looked at: graphs need not be optimized.
  grappler_config = tf.compat.v1.ConfigProto()
  rewrites = grappler_config.graph_options.rewrite_options
  rewrites.disable_meta_optimizer = True
  form = tff.backends.mapreduce.get_map_reduce_form_for_computation(
    round_fn, grappler_config=grappler_config
  )
  return WireBytes(
    download=_count_bytes(form.prepare.type_signature.result),
    upload=_count_bytes(form.work.type_signature.result),
  )


def closed_form_upload_bytes(num_features: int, num_classes: int) -> int:
  """Returns what a client of Fed3R uploads, as its paper counts it.

  (D^2 + D C) * 4 bytes: Fani et al., ICML 2024, count all of A in float32, and
  no constant feature. `measure_wire_bytes` tells what is sent here: A's upper
  triangle, in the precision of the sums.

  Args:
    num_features: D.
    num_classes: C.
  """
  return 4 * num_features * (num_features + num_classes)


def _count_bytes(type_spec: tff.Type) -> int:
  """Returns the size of a value of the given type, in bytes."""
  if isinstance(type_spec, tff.StructType):
    return sum(
      _count_bytes(element)
      for _, element in tff.structure.iter_elements(type_spec)
    )
  shape = type_spec.shape if isinstance(type_spec, tff.TensorType) else None
  dtype = (
    np.dtype(getattr(type_spec.dtype, 'as_numpy_dtype', type_spec.dtype))
    if shape is not None
    else None
  )
  if (
    shape is None
    or any(size is None for size in shape)
    or dtype.kind not in 'biufc'
  ):
    raise errors.InputError(
      'The bytes of a round cannot be counted: the size of a value of type '
      f'{type_spec} is not fixed.'
    )
  return int(np.prod([int(size) for size in shape], dtype=np.int64)) * (
    dtype.itemsize
  )

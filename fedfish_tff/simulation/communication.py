# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Bytes that cross the boundary between server and clients in a round."""

from collections.abc import Mapping
import math
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.simulation import costs
from fedfish_tff.simulation import hooks

import numpy as np
import tensorflow_federated as tff

# The intrinsics that sums compile to, and those without a fixed size.
_SUMS = (
  'federated_aggregate',
  'federated_secure_modular_sum',
  'federated_secure_sum',
  'federated_secure_sum_bitwidth',
)
_SELECTS = ('federated_select', 'federated_secure_select')


class WireBytes(NamedTuple):
  """Uncompressed bytes of one client in one round.

  Attributes:
    download: The bytes from the server to one client.
    upload: The bytes from one client to the server, including metrics and
      weights.
  """

  download: int
  upload: int

  @property
  def total(self) -> int:
    return self.download + self.upload


class CommunicationCosts(hooks.Hook):
  """A hook that counts the bytes that a round sends.

  Attributes:
    wire_bytes: The bytes per client and round.
  """

  def __init__(
    self,
    wire_bytes: WireBytes,
    costs_per_client: Mapping[str, int] | None = None,
  ) -> None:
    """Prepares the column `communication/wire_bytes` and its `_total`.

    Args:
      wire_bytes: The bytes per client and round, of `measure_wire_bytes`.
      costs_per_client: Further costs per client and round, by column. A row has
        their sum over the cohort.
    """
    self.wire_bytes = wire_bytes
    self._costs = {
      costs.WIRE_BYTES_COLUMN: wire_bytes.total,
      **(costs_per_client or {}),
    }

  def after_round(self, round_: hooks.Round) -> None:
    num_clients = len(round_.cohort)
    round_.row.update(
      (name, num_clients * cost) for name, cost in self._costs.items()
    )

  def complete_row(self, round_: hooks.Round) -> None:
    round_.row[f'{costs.WIRE_BYTES_COLUMN}_total'] = round_.totals['wire_bytes']


def measure_wire_bytes(
  process: (
    tff.templates.IterativeProcess
    | client_state_process.ClientStateProcess
    | tff.Computation
  ),
) -> WireBytes:
  """Measures a process' communication from its types.

  The computation is split into broadcasts, client work and sums. The sizes are
  those of the broadcast values and of the values that a client gives to the
  sums, plain and secure. Nothing is run.

  Args:
    process: A process with next of type (<S@SERVER, {D}@CLIENTS> -> ...), a
      process with client states, which are not sent, or a single computation. A
      process with several computations per round has the attribute
      `exchanged_types`, the types that a client receives and sends; these are
      measured. So is the `received_type` of a `ClientStateProcess`. Types must
      fix the sizes of tensors, and clients may not select values by keys.

  Returns:
    The bytes per client and round.
  """
  if hasattr(process, 'exchanged_types'):
    return WireBytes(*map(_count_bytes, process.exchanged_types))
  if isinstance(process, client_state_process.ClientStateProcess):
    round_fn = process.next_without_client_states
  else:
    round_fn = getattr(process, 'next', process)
  block, _ = tff.tensorflow.replace_intrinsics_with_bodies(
    round_fn.to_building_block()
  )
  download, upload = 0, 0

  def count(part: Any) -> tuple[Any, bool]:
    nonlocal download, upload
    if isinstance(part, tff.framework.Call) and isinstance(
      part.function, tff.framework.Intrinsic
    ):
      sent = part.function.type_signature.parameter
      if part.function.uri == 'federated_broadcast':
        download += _count_bytes(sent.member)
      elif part.function.uri in _SUMS:
        upload += _count_bytes(sent[0].member)
      elif part.function.uri in _SELECTS:
        raise errors.InputError(
          'The bytes of a round cannot be counted: clients select what they '
          f'get ({part.function.uri}).'
        )
    return part, False

  # The call-dominant form makes every call once, in one list.
  tff.framework.transform_postorder(
    tff.framework.to_call_dominant(block), count
  )
  received_type = getattr(process, 'received_type', None)
  if received_type is not None:
    download = _count_bytes(received_type)
  return WireBytes(download=download, upload=upload)


def closed_form_upload_bytes(num_features: int, num_classes: int) -> int:
  """Returns the upload of a client of Fed3R, as its paper counts it.

  It is (D^2 + D C) * 4 bytes: Fani et al., ICML 2024, count all of A in float32
  and no constant feature. `measure_wire_bytes` counts the bytes sent here: A's
  upper triangle, in the precision of the sums.

  Args:
    num_features: The number of features, D.
    num_classes: The number of classes, C.
  """
  return 4 * num_features * (num_features + num_classes)


def _count_bytes(type_spec: tff.Type) -> int:
  """Returns the size of a value of the given type, in bytes."""
  if isinstance(type_spec, tff.StructType):
    return sum(map(_count_bytes, type_spec.children()))
  shape = getattr(type_spec, 'shape', None)
  if (
    shape is None
    or None in shape
    or np.dtype(type_spec.dtype).kind not in 'biufc'
  ):
    raise errors.InputError(
      'The bytes of a round cannot be counted: the size of a value of type '
      f'{type_spec} is not fixed.'
    )
  return math.prod(shape) * np.dtype(type_spec.dtype).itemsize

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The devices on which a cohort computes.

Names are those of TensorFlow's logical devices, such as 'CPU:0' or 'GPU:1', or
a kind for all devices of it: 'CPU', 'GPU', 'TPU'.
"""

from collections.abc import Sequence

from fedfish_tff import errors

import tensorflow as tf

ACCELERATORS = ('TPU', 'GPU')


def resolve_devices(devices: str | Sequence[str] | None) -> tuple[str, ...]:
  """Returns the logical devices that are meant.

  Args:
    devices: Names; one name, or several between commas, may stand alone. None
      for all GPUs if TensorFlow sees any, else the CPU. Asking for TPUs
      initialises the TPU system, which resets it.

  Returns:
    Names as TensorFlow has them, such as '/device:CPU:0'.

  Raises:
    errors.InputError: If TensorFlow sees no such device.
  """
  if devices is None:
    names = [_short_name(d) for d in tf.config.list_logical_devices('GPU')]
    return tuple(f'/device:{name}' for name in names or ['CPU:0'])
  if isinstance(devices, str):
    devices = devices.split(',')
  wanted = [name.strip().upper() for name in devices if name.strip()]
  if any(name.partition(':')[0] == 'TPU' for name in wanted):
    _initialize_tpus()
  available = [_short_name(d) for d in tf.config.list_logical_devices()]
  resolved = []
  for name in wanted:
    found = [a for a in available if a == name or a.split(':')[0] == name]
    if not found:
      raise errors.InputError(
        f'There is no device {name!r}; TensorFlow sees: {", ".join(available)}.'
      )
    resolved.extend(found)
  if not resolved:
    raise errors.InputError(
      f'No device was named; expected one or more of: {", ".join(available)}.'
    )
  if len(set(resolved)) < len(resolved):
    raise errors.InputError(
      f'The devices {", ".join(wanted)} name one of them twice.'
    )
  return tuple(f'/device:{name}' for name in resolved)


def are_accelerators(devices: Sequence[str]) -> bool:
  """Whether all devices (as `resolve_devices` returns them) are accelerators."""
  return all(
    name.removeprefix('/device:').split(':')[0] in ACCELERATORS
    for name in devices
  )


def _short_name(device: tf.config.LogicalDevice) -> str:
  """Returns a name such as 'CPU:0'."""
  return ':'.join(device.name.split(':')[-2:])


def _initialize_tpus() -> None:
  """Makes the TPU cores of this machine logical devices."""
  if tf.config.list_logical_devices('TPU'):
    return
  try:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu='local')
    tf.tpu.experimental.initialize_tpu_system(resolver)
  except (ValueError, RuntimeError, tf.errors.OpError) as error:
    reason = str(error).strip().split('\n', 1)[0]
    raise errors.InputError(
      f'TensorFlow finds no TPU on this machine: {reason}'
    ) from error

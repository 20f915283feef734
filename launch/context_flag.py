# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The flags --context, --devices and --xla, the same in every binary."""

from fedfish_tff.execution import contexts

from absl import flags

# The flag belongs to the binary that calls `define`, and stands in its help.
flags.disclaim_key_flags()


def define() -> flags.FlagHolder[str]:
  """Defines the flag and returns its holder."""
  return flags.DEFINE_enum(
    'context',
    contexts.DEFAULT_CONTEXT_NAME,
    contexts.context_names(),
    'Where the computations of TFF run. cohort: in this process, all clients '
    'of a round as one graph, without a port or a child process. local_worker: '
    "in TFF's own runtime, to compare with it: a child process, slower, that "
    'listens on a port. Results agree up to rounding.',
  )


def define_devices() -> flags.FlagHolder[str | None]:
  """Defines --devices and returns its holder."""
  return flags.DEFINE_string(
    'devices',
    None,
    'What --context=cohort computes on: TPU, GPU, CPU, or single devices '
    'between commas (GPU:0,GPU:1), which share the clients of a round. By '
    'default all GPUs, or the CPU where there is none.',
  )


def define_xla() -> flags.FlagHolder[bool | None]:
  """Defines --xla and returns its holder."""
  return flags.DEFINE_bool(
    'xla',
    None,
    'Whether XLA compiles client work of --context=cohort. By default on '
    'accelerators only: on a CPU it is slow at convolutions.',
  )


def options(devices: str | None, xla: bool | None) -> dict[str, str | bool]:
  """Returns the options of the context that flags ask for.

  Args:
    devices: The value of --devices.
    xla: The value of --xla.
  """
  given = {'devices': devices, 'use_xla': xla}
  return {name: value for name, value in given.items() if value is not None}

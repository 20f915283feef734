# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The flag --context and those of its options, the same in every binary."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff.execution import contexts

from absl import flags

# The flag belongs to the binary that calls `define`, so its help shows it.
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
    'listens on a port. pjrt: client work on any device that JAX drives '
    '(--platform), in a child process without a port, with a Python of its '
    'own, which `make accelerator` makes. ray: client work on the actors of a Ray cluster '
    '(--ray_address), or of one that is started on this machine; Ray is to be '
    'installed. Results agree up to rounding.',
  )


# The values or the type of each option, and its help.
OPTION_FLAGS: Mapping[str, tuple[Sequence[str] | type, str]] = {
  'device': (
    ['cpu', 'gpu'],
    'What --context=cohort computes client work on: the processor (the default), '
    'or all GPUs that TensorFlow finds, which share the clients of a round.',
  ),
  'platform': (
    ['cpu', 'cuda', 'tpu'],
    'What --context=pjrt computes on: all devices of a platform of JAX, which '
    'share the clients of a round. By default cpu, which is slower than '
    '--context=cohort and there to compare. With --context=ray: one device for '
    'each actor, and by default a processor, without JAX.',
  ),
  'precision': (
    ['float32', 'tensorfloat32', 'bfloat16'],
    'How --context=pjrt multiplies matrices: exactly (float32, the default), '
    'or as the platform does it faster: tensorfloat32 on cuda, bfloat16 on '
    'tpu.',
  ),
  'vectorized_clients': (
    int,
    'How many clients of --context=pjrt compute side by side, each operation '
    'for all of them at once, if they have the same number of batches, all full. '
    'By default 1: one after the other.',
  ),
  'ray_address': (
    str,
    'The cluster of Ray: host:port where this machine is a node, '
    'ray://host:port elsewhere, auto for the one that runs here. By default one '
    'is started on this machine, on loopback only.',
  ),
  'ray_actors': (
    int,
    'How many actors of --context=ray share a round, of one processor each, or '
    'one device of --platform. By default as many as the cluster has of them.',
  ),
  'ray_splits': (
    int,
    'Into how many parts --context=ray divides a round, on which the last digits '
    'of results depend: the same number gives the same results on a cluster of '
    'another size. By default as many as there are actors.',
  ),
  'ray_actor_cpus': (
    int,
    'The processors of each actor of --context=ray, by default 1. With all of a '
    'machine, one sum of clients comes back from it in a round, instead of one of '
    'each processor.',
  ),
}


def define_with_options() -> Callable[[], None]:
  """Defines the flag and those of all options.

  Returns:
    A function that makes the context the default one, once flags are parsed.
  """
  context, given = define(), define_options(*OPTION_FLAGS)
  return lambda: contexts.set_default_context(context.value, **given())


def define_options(*names: str) -> Callable[[], dict[str, str | int]]:
  """Defines flags for options of contexts, some of `OPTION_FLAGS`.

  Returns:
    A function that returns the given options, once flags are parsed.
  """
  holders = {name: _define(name, *OPTION_FLAGS[name]) for name in names}

  def given() -> dict[str, str | int]:
    return {
      name: holder.value
      for name, holder in holders.items()
      if holder.value is not None
    }

  return given


def _define(
  name: str, kind: Sequence[str] | type, help_text: str
) -> flags.FlagHolder[Any]:
  if kind is int:
    return flags.DEFINE_integer(name, None, help_text, lower_bound=1)
  if kind is str:
    return flags.DEFINE_string(name, None, help_text)
  return flags.DEFINE_enum(name, None, kind, help_text)

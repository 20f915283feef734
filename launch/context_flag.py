# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The flag --context, the same in every binary.

The names stand here once more, beside `fedfish_tff.execution.contexts`, so that
a wrong one is answered before TensorFlow Federated is imported.
"""

from absl import flags

CONTEXT_NAMES = ('cohort', 'local_worker')
DEFAULT_CONTEXT_NAME = 'cohort'

# The flag belongs to the binary that calls `define`, and stands in its help.
flags.disclaim_key_flags()


def define() -> flags.FlagHolder[str]:
  """Defines the flag and returns its holder."""
  return flags.DEFINE_enum(
    'context',
    DEFAULT_CONTEXT_NAME,
    CONTEXT_NAMES,
    'Where the computations of TFF run. cohort: in this process, all clients '
    'of a round as one graph, without a port or a child process. local_worker: '
    "in TFF's own runtime, to compare with it: a child process, slower, that "
    'listens on a port. Results agree up to rounding.',
  )

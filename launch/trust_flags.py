# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The flags --trust_saved_models and --trust_modules of all binaries."""

from absl import flags

# The flags belong to the binary that defines them, so its help shows them.
flags.disclaim_key_flags()


def define_saved_models() -> flags.FlagHolder[bool]:
  """Defines --trust_saved_models and returns its holder."""
  return flags.DEFINE_bool(
    'trust_saved_models',
    False,
    'Whether to load a model (.h5, .hdf5, .keras or a SavedModel) that the '
    'config names as an extractor, or a .keras of Keras 2 to begin with. It is '
    'a program, which may run any code. The config of a run to begin with may '
    'name none.',
  )


def define_modules() -> flags.FlagHolder[bool]:
  """Defines --trust_modules and returns its holder."""
  return flags.DEFINE_bool(
    'trust_modules',
    False,
    'Whether to import Python modules that a config.json names, as '
    'package.module:NAME, for a task or method that is not of this package. A '
    'config.json is also that of a run to begin with (warm_start.path).',
  )

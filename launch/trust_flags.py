# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The flags --trust_saved_models and --trust_modules of all binaries."""

from collections.abc import Callable

from fedfish_tff import trust as trust_lib

from absl import flags

# The flags belong to the binary that defines them, so its help shows them.
flags.disclaim_key_flags()


def define(*, saved_models: bool = True) -> Callable[..., trust_lib.Trust]:
  """Defines --trust_modules, and --trust_saved_models where models are loaded.

  Args:
    saved_models: Whether the binary can load saved models.

  Returns:
    A function of `is_json`, whether a config is read from JSON, that returns the
    trust in it once flags are parsed.
  """
  holders = {}
  if saved_models:
    holders['saved_models'] = flags.DEFINE_bool(
      'trust_saved_models',
      False,
      'Whether to load a model (.h5, .hdf5, .keras or a SavedModel) that the '
      'config names as an extractor, or a .keras of Keras 2 to begin with. It is '
      'a program, which may run any code.',
    )
  holders['json_modules'] = flags.DEFINE_bool(
    'trust_modules',
    False,
    'Whether to import Python modules that a config.json names, as '
    'package.module:NAME, for a task, method or block that is not of this '
    'package.',
  )

  def given(*, is_json: bool) -> trust_lib.Trust:
    values = {name: holder.value for name, holder in holders.items()}
    return trust_lib.Trust(is_json=is_json, **values)

  return given

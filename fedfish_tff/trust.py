# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What may be run that is not this package: nothing of a stranger's run.

A run's folder is data. But its config can name two kinds of programs: a saved
model, whose layers and graph may run code, and a Python module with a task or a
method. Saved models are loaded once the process has been told to trust them.
Modules are imported, since callers of a library name their own, unless the
process was told that names come from somewhere else.

Plain Python, without TensorFlow.
"""

from fedfish_tff import errors

_trusted = {'saved_models': False, 'modules': True}


def trust(*, saved_models: bool = False, modules: bool = True) -> None:
  """Decides for this process.

  Args:
    saved_models: Whether models may be loaded from files.
    modules: Whether modules named package.module:NAME may be imported.
  """
  _trusted.update(saved_models=saved_models, modules=modules)


def granted() -> dict[str, bool]:
  """Returns what `trust` was called with, for another process to be told."""
  return dict(_trusted)


def check_saved_model(path: object) -> None:
  """Raises InputError unless saved models are trusted.

  Args:
    path: A SavedModel or a file of Keras.
  """
  if not _trusted['saved_models']:
    raise errors.InputError(
      f'{path} is a saved model, which may run code and read and write files; '
      'it is loaded only with --trust_saved_models (trust.trust in Python).'
    )


def check_module(field: str, name: str) -> None:
  """Raises InputError unless named modules are trusted.

  Args:
    field: Where the name stands.
    name: package.module:NAME.
  """
  if not _trusted['modules']:
    raise errors.InputError(
      f'{field} is {name!r}, a Python module that would be run; a config that '
      'was read from JSON may name one only with --trust_modules.'
    )

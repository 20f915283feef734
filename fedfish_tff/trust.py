# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trust in code outside this package, of which a stranger's run can run none.

A run's folder is data. But its config can name two kinds of programs: a saved
model, which may run code in its layers and graph, and a Python module with a
task or a method. Saved models are loaded only after the process was told to
trust them. Modules are imported, since a library's callers name their own,
unless the process was told that the names come from elsewhere.

Plain Python, without TensorFlow.
"""

from fedfish_tff import errors

_trusted = {'saved_models': False, 'modules': True}


def trust(*, saved_models: bool = False, modules: bool = True) -> None:
  """Sets the trust of this process.

  Args:
    saved_models: Whether models may be loaded from files.
    modules: Whether modules named package.module:NAME may be imported.
  """
  _trusted.update(saved_models=saved_models, modules=modules)


def granted() -> dict[str, bool]:
  """Returns the arguments of `trust`, to repeat the call in another process."""
  return dict(_trusted)


def check_saved_model(path: object) -> None:
  """Raises InputError unless saved models are trusted.

  Args:
    path: The SavedModel or file of Keras.
  """
  if not _trusted['saved_models']:
    raise errors.InputError(
      f'{path} is a saved model, which may run code and read and write files; '
      'it is loaded only with --trust_saved_models (trust.trust in Python).'
    )


def check_module(field: str, name: str) -> None:
  """Raises InputError unless named modules are trusted.

  Args:
    field: The field that holds the name.
    name: The name, package.module:NAME.
  """
  if not _trusted['modules']:
    raise errors.InputError(
      f'{field} is {name!r}, a Python module that would be run; a config that '
      'was read from JSON may name one only with --trust_modules.'
    )

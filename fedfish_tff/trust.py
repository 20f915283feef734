# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trust in programs outside this package, which belongs to the file read.

A run's folder is data. But its config can name two kinds of programs: a saved
model, which may run code in its layers and graph, and a Python module with a
task, a method or a block. A config carries the trust in what it names, so that
trust in one config is none in another that the same command reads.

Plain Python, without TensorFlow.
"""

import dataclasses

from fedfish_tff import errors


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trust:
  """The trust in the programs that a config names.

  By default it is that in a config written in Python, which is a program
  itself: modules are imported, models are not loaded.

  Attributes:
    saved_models: Whether models may be loaded from files.
    json_modules: Whether a config that is read from JSON may name modules,
      package.module:NAME.
    is_json: Whether the config is read from JSON.
  """

  saved_models: bool = False
  json_modules: bool = False
  is_json: bool = False

  def check_module(self, field: str, name: str) -> None:
    """Raises InputError unless a named module may be imported.

    Args:
      field: The field that holds the name.
      name: The name, package.module:NAME.
    """
    if self.is_json and not self.json_modules:
      raise errors.InputError(
        f'{field} is {name!r}, a Python module that would be run; a config that '
        'was read from JSON may name one only with --trust_modules.'
      )


# The trust in a config written in Python.
PYTHON = Trust()
# The trust in a run's folder, which anyone may have written.
NONE = Trust(is_json=True)


def check_saved_model(path: object, trusted: bool) -> None:
  """Raises InputError unless a saved model is trusted."""
  if not trusted:
    raise errors.InputError(
      f'{path} is a saved model, which may run code and read and write files; '
      'it is loaded only with --trust_saved_models (trusted=True in Python).'
    )

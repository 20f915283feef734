# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""JSON objects that carry a checksum of their content."""

from collections.abc import Mapping
import hashlib
import json
import os
from typing import Any

from fedfish_tff import errors
from fedfish_tff import regular_files

_CHECKSUM = 'checksum'


def add_checksum(content: Mapping[str, Any]) -> dict[str, Any]:
  """Returns a JSON object with its checksum as the last entry."""
  return {**content, _CHECKSUM: _checksum(content)}


def read(
  path: str | os.PathLike[str], form: Mapping[Any, Any]
) -> dict[str, Any]:
  """Returns the object in a file without its checksum.

  Args:
    path: A file with a checksum that matches.
    form: The form of the object, which `regular_files.read_json` compares.

  Raises:
    regular_files.MissingFileError: If there is no such file.
  """
  content = regular_files.read_json(path, {**form, _CHECKSUM: str})
  checksum = content.pop(_CHECKSUM)
  if checksum != _checksum(content):
    raise errors.InputError(
      f'{os.fspath(path)} is damaged: it does not match its checksum.'
    )
  return content


def _checksum(content: Mapping[str, Any]) -> str:
  text = json.dumps(content, sort_keys=True)
  return hashlib.sha256(text.encode()).hexdigest()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""JSON objects that carry a checksum of what else they hold."""

from collections.abc import Mapping
import hashlib
import json
from typing import Any

_CHECKSUM = 'checksum'


def add_checksum(content: Mapping[str, Any]) -> dict[str, Any]:
  """Returns an object of JSON values, with its checksum at the end."""
  return {**content, _CHECKSUM: _checksum(content)}


def remove_checksum(content: Mapping[str, Any]) -> dict[str, Any]:
  """Returns an object without its checksum, once it is verified.

  Args:
    content: What `add_checksum` has returned, from a file.

  Raises:
    ValueError: If the checksum is missing or does not match.
  """
  rest = dict(content)
  if rest.pop(_CHECKSUM, None) != _checksum(rest):
    raise ValueError('it does not match its checksum')
  return rest


def _checksum(content: Mapping[str, Any]) -> str:
  text = json.dumps(content, sort_keys=True)
  return hashlib.sha256(text.encode()).hexdigest()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Manifests of checkpoints, read without TensorFlow.

A manifest is a JSON file in a checkpoint's folder, written last: `files` has the
SHA-256 of the checkpoint's files, `tensors` what these are, `run` the digests of
other files of the run as they were then, and `checksum` is of all that.
"""

from collections.abc import Mapping
import json
import pathlib
import re
from typing import Any

from fedfish_tff.simulation import checked_json

FILE_NAME = 'manifest.json'
FOLDER_PREFIX = 'program_state_'


def read_manifests(folder: pathlib.Path) -> dict[int, dict[str, Any]]:
  """Returns the undamaged manifests in a folder of checkpoints, by version."""
  manifests = {}
  for path in folder.glob(f'{FOLDER_PREFIX}*/{FILE_NAME}'):
    version = re.fullmatch(rf'{FOLDER_PREFIX}(\d+)', path.parent.name)
    try:
      manifest = checked_json.remove_checksum(json.loads(path.read_bytes()))
      if version:
        manifests[int(version[1])] = manifest
    except (OSError, ValueError, TypeError):
      # Damaged, or removed meanwhile: whoever loads the checkpoint is told.
      continue
  return manifests


def changed_file(
  manifest: Mapping[str, Any], digests: Mapping[str, str]
) -> str | None:
  """Returns a file of the run that is not what it was; None if all are.

  Args:
    manifest: Of a checkpoint; of earlier versions of the code it has no `run`.
    digests: Of the files as they are, by name.
  """
  return next(
    (
      name
      for name, digest in manifest.get('run', {}).items()
      if digests.get(name) != digest
    ),
    None,
  )

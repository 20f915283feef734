# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Manifests of checkpoints, read without TensorFlow.

A manifest is a JSON file in a checkpoint's folder, written last: `round` and
`run` say whose it is, the latter by digests of the run's files up to that round,
`files` has the SHA-256 of the checkpoint's files, `tensors` what these are, and
`checksum` is that of it all.
"""

from collections.abc import Mapping
import json
import pathlib
from typing import Any

from fedfish_tff.simulation import checked_json

FILE_NAME = 'manifest.json'
FOLDER_PREFIX = 'program_state_'


def read_manifests(folder: pathlib.Path) -> dict[int, dict[str, Any]]:
  """Returns the undamaged manifests in a folder of checkpoints, by round."""
  manifests = {}
  for path in folder.glob(f'{FOLDER_PREFIX}*/{FILE_NAME}'):
    try:
      manifest = checked_json.remove_checksum(json.loads(path.read_bytes()))
      round_number = manifest['round']
    except (KeyError, OSError, ValueError, TypeError):
      # Damaged, or removed meanwhile: whoever loads the checkpoint is told.
      continue
    if path.parent.name == f'{FOLDER_PREFIX}{round_number}':
      manifests[round_number] = manifest
  return manifests


def changed_file(then: Any, now: Mapping[str, str]) -> str | None:
  """Returns a file of a run that is not what it was; None if all are.

  Args:
    then: The digests of the run's files by name, as a manifest or a summary has
      them; anything else counts as none.
    now: The same, as the files are.
  """
  then = then if isinstance(then, dict) else {}
  return next(
    (name for name in {**then, **now} if then.get(name) != now.get(name)), None
  )

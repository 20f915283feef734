# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Manifests of checkpoints, read without TensorFlow.

A manifest is a JSON file in a checkpoint's folder, written last: `round` and
`run` say whose it is, the latter by digests of the run's files up to that round,
`files` has the SHA-256 of the checkpoint's files, `tensors` what these are, and
`checksum` is that of it all.
"""

from collections.abc import Mapping
import contextlib
import pathlib
from typing import Any

from fedfish_tff import errors
from fedfish_tff.simulation import checked_json

FILE_NAME = 'manifest.json'
FOLDER_PREFIX = 'program_state_'
FORM = {'round': int, 'files': {...: str}, 'tensors': [str], 'run': {...: str}}


def read_manifests(folder: pathlib.Path) -> dict[int, dict[str, Any]]:
  """Returns the undamaged manifests in a folder of checkpoints, by round."""
  manifests = {}
  for path in folder.glob(f'{FOLDER_PREFIX}*/{FILE_NAME}'):
    # Damaged, or removed meanwhile: whoever loads the checkpoint is told.
    with contextlib.suppress(errors.InputError):
      manifest = checked_json.read(path, FORM)
      if path.parent.name == f'{FOLDER_PREFIX}{manifest["round"]}':
        manifests[manifest['round']] = manifest
  return manifests


def changed_file(then: Mapping[str, str], now: Mapping[str, str]) -> str | None:
  """Returns a file of a run that is not what it was; None if all are.

  Args:
    then: The digests of the run's files by name, as a manifest or a summary has
      them.
    now: The same, as the files are.
  """
  return next(
    (name for name in {**then, **now} if then.get(name) != now.get(name)), None
  )

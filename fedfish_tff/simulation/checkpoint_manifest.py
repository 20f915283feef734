# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Manifests of checkpoints, read without TensorFlow.

A manifest is the JSON text in a checkpoint's array `manifest`. `round` is the
checkpoint's round, `run` the digests of the run's files up to that round, and
`tensors` the dtype and shape of each tensor in the order of the state's
structure.
"""

from collections.abc import Mapping
import contextlib
import json
import pathlib
import re
from typing import Any
import zipfile

from fedfish_tff import regular_files
from fedfish_tff.datasets import npz_files

import numpy as np

ARRAY = 'manifest'
_FORM = {'round': int, 'run': {...: str}, 'tensors': [str]}
_FILE_NAME = re.compile(r'program_state_(0|[1-9]\d*)\.npz')


def checkpoint_path(folder: pathlib.Path, version: int) -> pathlib.Path:
  """Returns the path of a version's file in a folder of checkpoints."""
  return folder / f'program_state_{version}.npz'


def versions_in(folder: pathlib.Path) -> list[int]:
  """Returns the versions in a folder of checkpoints, damaged ones included."""
  if not folder.is_dir():
    return []
  matches = (_FILE_NAME.fullmatch(path.name) for path in folder.iterdir())
  return sorted(int(match[1]) for match in matches if match)


def write(manifest: Mapping[str, Any]) -> np.ndarray:
  """Returns a manifest as the array that `read` decodes."""
  return np.array(json.dumps(manifest))


def read(archive: zipfile.ZipFile) -> dict[str, Any]:
  """Returns the manifest in a checkpoint.

  Raises:
    npz_files.NPZ_READ_ERRORS: If there is none, or it is damaged.
  """
  text = npz_files.read_npz_text(archive, ARRAY)
  return regular_files.parse_json(text, _FORM)


def read_manifests(folder: pathlib.Path) -> dict[int, dict[str, Any]]:
  """Returns the undamaged manifests in a folder of checkpoints, by round."""
  manifests = {}
  for version in versions_in(folder):
    # Loading a damaged or removed checkpoint reports it.
    with contextlib.suppress(*npz_files.NPZ_READ_ERRORS):
      path = checkpoint_path(folder, version)
      with npz_files.open_archive(path) as archive:
        manifest = read(archive)
      if manifest['round'] == version:
        manifests[version] = manifest
  return manifests


def changed_file(then: Mapping[str, str], now: Mapping[str, str]) -> str | None:
  """Returns the name of a file of a run that has changed; None without one.

  Args:
    then: The digests of the run's files by name, from a manifest or a summary.
    now: The current digests of the files by name.
  """
  return next(
    (name for name in {**then, **now} if then.get(name) != now.get(name)), None
  )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints with a checksum, in place of TFF's file program state manager.

`tff.program.FileProgramStateManager` does not notice a state that was damaged
after it was written, and writes each as a SavedModel, whose graph takes a tenth
of a second. Here the tensors alone are written, numbered in the structure's
order; `tf.train.load_checkpoint` reads them. A manifest with the SHA-256 of every
file is written last: without manifest a version is half-written, and one that
does not match it, or cannot be read, is damaged and passed over. So is one that
does not go with the run's other files, whose digests are in the manifest, too.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import itertools
import json
import os
import pathlib
import re
import shutil
from typing import Any

from fedfish_tff import errors
from fedfish_tff import new_files
from fedfish_tff import regular_files
from fedfish_tff.simulation import checked_json
from fedfish_tff.simulation import checkpoint_manifest
from fedfish_tff.simulation import files

from absl import logging
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Of the files of the tensors, in a version's folder.
_TENSORS = pathlib.Path('variables', 'variables')


class DamagedCheckpointError(errors.InputError):
  """A checkpoint that cannot be read, or is not what was saved."""


class CheckpointManager(tff.program.ProgramStateManager[Any]):
  """A `tff.program.ProgramStateManager` whose states carry a checksum.

  A state is any structure of tensors that `tf.nest` can flatten; what is loaded
  equals what was saved bit for bit.
  """

  def __init__(
    self,
    root_dir: str | os.PathLike[str],
    *,
    keep_total: int = 2,
    keep_versions: Callable[[], Collection[int]] = tuple,
    run_digests: Callable[[int], Mapping[str, str]] | None = None,
  ) -> None:
    """Creates the folder if need be; reads nothing.

    Args:
      root_dir: The folder of the checkpoints.
      keep_total: How many of the newest checkpoints to keep. With two or more,
        one that is damaged does not cost the run.
      keep_versions: Returns, whenever one is saved, versions that are kept
        beside those; each takes the disk space of a checkpoint.
      run_digests: From a version to digests of the other files of its run, by
        name, such as `Workdir.digests`. A state is loaded only if those that it
        was saved with are the same.

    Raises:
      errors.InputError: If `keep_total` is not positive or the folder cannot be
        created.
    """
    if keep_total < 1:
      raise errors.InputError(
        f'keep_total is {keep_total}; a positive integer was expected.'
      )
    self._root_dir = pathlib.Path(root_dir)
    self._keep_total = keep_total
    self._keep_versions = keep_versions
    self._run_digests = run_digests
    try:
      self._root_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
      raise files.unwritable_error(self._root_dir, error) from error

  async def get_versions(self) -> list[int] | None:
    """Returns the versions that were written to the end, or None.

    Those that cannot be read are among them.
    """
    versions = [v for v in self._all_versions() if self._is_complete(v)]
    return versions or None

  async def load(self, version: int, structure: Any) -> Any:
    """Returns a saved state after verifying its checksum.

    Args:
      version: The version.
      structure: A state of the same structure, with values of any content.

    Returns:
      The state, with NumPy arrays and scalars as leaves.

    Raises:
      tff.program.ProgramStateNotFoundError: If there is no such version.
      DamagedCheckpointError: If the checkpoint cannot be read, or is not what
        was saved.
      errors.InputError: If it holds other tensors than `structure`.
    """
    if not self._is_complete(version):
      raise tff.program.ProgramStateNotFoundError(version)
    found = self._verify(version)['tensors']
    leaves = tf.nest.flatten(structure)
    expected = [_describe(leaf) for leaf in leaves]
    if found != expected:
      raise errors.InputError(
        f'The checkpoint {self._path(version)} holds other tensors than the '
        f'run: {_first_difference(found, expected)}; it was written by another '
        'version of the code.'
      )
    if not leaves:
      return structure
    try:
      with regular_files.plain_folder(self._path(version)) as folder:
        reader = tf.train.load_checkpoint(os.path.join(folder, _TENSORS))
        loaded = [reader.get_tensor(name) for name in _names(leaves)]
    except (OSError, tf.errors.OpError) as error:
      raise _unreadable_error(self._path(version), error) from error
    return tf.nest.pack_sequence_as(structure, loaded)

  async def load_latest(self, structure: Any) -> tuple[Any, int]:
    """Returns the newest state that is not damaged, and its version.

    Each damaged one passed over is logged as a warning with its reason.

    Args:
      structure: A state of the same structure, with values of any content.

    Returns:
      (state, version); (None, 0) if nothing was saved.

    Raises:
      errors.InputError: If there are checkpoints and all are damaged.
    """
    versions = await self.get_versions()
    if versions is None:
      return None, 0
    for version in reversed(versions):
      try:
        return await self.load(version, structure), version
      except DamagedCheckpointError as error:
        reason = str(error)
        if version != versions[0]:
          logging.warning('%s The checkpoint before it is used.', reason)
    raise errors.InputError(
      f'No checkpoint in {self._root_dir} can be used (versions '
      f'{", ".join(map(str, versions))}); restore what is damaged, or start '
      f'afresh with --overwrite. {reason}'
    )

  async def save(self, program_state: Any, version: int) -> None:
    """Saves a state and removes old ones; first, leftovers of a crash.

    Args:
      program_state: The state.
      version: Larger than that of the state loaded or saved before; damaged
        checkpoints from this version on are replaced.

    Raises:
      tff.program.ProgramStateExistsError: If this version is already there and
        not damaged.
      errors.InputError: If it cannot be written, as on a full disk. Earlier
        checkpoints are intact.
    """
    try:
      self.remove_leftovers()
      self._remove_damaged_from(version)
      leaves = tf.nest.flatten(
        await tff.program.materialize_value(program_state)
      )
      self._write_tensors(version, leaves)
      self._write_manifest(version, [_describe(leaf) for leaf in leaves])
      kept = {version, *self._keep_versions()}
      for old in (await self.get_versions())[: -self._keep_total]:
        if old not in kept:
          self._remove(old)
    except (OSError, tf.errors.OpError) as error:
      self._try_to_remove_leftovers()
      raise files.unwritable_error(self._path(version), error) from error
    except errors.InputError:
      self._try_to_remove_leftovers()
      raise

  def remove_after(self, version: int) -> None:
    """Removes later versions, which the run that goes on has not reached.

    Args:
      version: The version.
    """
    for later in self._all_versions():
      if later > version:
        logging.warning('Removing %s.', self._path(later))
        self._remove(later)

  def remove_leftovers(self) -> None:
    """Removes what a crash left: temporary folders and halves of versions."""
    for version in self._all_versions():
      if not self._is_complete(version):
        self._remove(version)
    for entry in self._root_dir.iterdir():
      if re.fullmatch(
        rf'{checkpoint_manifest.FOLDER_PREFIX}\d+_temp\d+', entry.name
      ):
        self._remove_tree(entry)

  def _try_to_remove_leftovers(self) -> None:
    """Makes room after a failed save, as far as that is possible."""
    try:
      self.remove_leftovers()
    except OSError as error:
      logging.warning('Cannot clean up %s: %s', self._root_dir, error)

  def _path(self, version: int) -> pathlib.Path:
    return self._root_dir / f'{checkpoint_manifest.FOLDER_PREFIX}{version}'

  def _all_versions(self) -> list[int]:
    if not self._root_dir.is_dir():
      return []
    matches = (
      re.fullmatch(rf'{checkpoint_manifest.FOLDER_PREFIX}(\d+)', entry.name)
      for entry in self._root_dir.iterdir()
    )
    return sorted(int(match[1]) for match in matches if match)

  def _is_complete(self, version: int) -> bool:
    try:
      return (self._path(version) / checkpoint_manifest.FILE_NAME).exists()
    except OSError:
      # Whether it is there cannot be seen: nothing to be cleaned up as
      # half-written. It is found out when it is verified.
      return True

  def _remove(self, version: int) -> None:
    # Renamed first: a half-removed version is then a leftover.
    names = (
      f'{checkpoint_manifest.FOLDER_PREFIX}{version}_temp{n}'
      for n in itertools.count()
    )
    doomed = next(
      path for name in names if not (path := self._root_dir / name).exists()
    )
    self._path(version).rename(doomed)
    self._remove_tree(doomed)

  def _remove_tree(self, path: pathlib.Path) -> None:
    try:
      shutil.rmtree(path)
    except OSError as error:
      # As of a version of another user's: it is in nobody's way.
      logging.warning('Cannot remove %s: %s', path, error)

  def _remove_damaged_from(self, version: int) -> None:
    for other in self._all_versions():
      if other < version:
        continue
      try:
        self._verify(other)
      except DamagedCheckpointError:
        logging.warning('Removing the damaged %s.', self._path(other))
        self._remove(other)

  def _write_tensors(self, version: int, leaves: Sequence[Any]) -> None:
    path = self._path(version)
    if path.exists():
      raise tff.program.ProgramStateExistsError(
        version=version, path=self._root_dir
      )
    with tf.device('/CPU:0'):
      tensors = [
        # TensorFlow would make half of a number of Python's.
        tf.convert_to_tensor(
          np.asarray(leaf) if isinstance(leaf, (int, float)) else leaf
        )
        for leaf in leaves
      ]
      (path / _TENSORS).parent.mkdir(parents=True)
      if leaves:
        tf.raw_ops.SaveV2(
          prefix=str(path / _TENSORS),
          tensor_names=_names(leaves),
          shape_and_slices=[''] * len(leaves),
          tensors=tensors,
        )

  def _write_manifest(self, version: int, tensors: list[str]) -> None:
    folder = self._path(version)
    for path in sorted(folder.rglob('*')):
      new_files.sync(path)
    new_files.sync(folder)
    manifest = checked_json.add_checksum(
      {
        'round': version,
        'run': self._run_digests(version) if self._run_digests else {},
        'files': _checksums(folder),
        'tensors': tensors,
      }
    )
    files.write_atomically(
      folder / checkpoint_manifest.FILE_NAME,
      json.dumps(manifest, indent=1).encode(),
    )
    new_files.sync(self._root_dir)

  def _verify(self, version: int) -> dict[str, Any]:
    """Returns the manifest; raises DamagedCheckpointError if files differ."""
    folder = self._path(version)
    try:
      manifest = checked_json.read(
        folder / checkpoint_manifest.FILE_NAME, checkpoint_manifest.FORM
      )
      found = _checksums(folder)
    except errors.InputError as error:
      raise _unreadable_error(folder, error) from error
    if manifest['round'] != version:
      raise DamagedCheckpointError(
        f'The checkpoint {folder} is damaged: it is that of round '
        f'{manifest["round"]}.'
      )
    expected = manifest['files']
    for name in sorted(expected.keys() | found.keys()):
      if expected.get(name) == found.get(name):
        continue
      what = (
        'is missing'
        if name not in found
        else 'should not be there'
        if name not in expected
        else 'does not match its checksum'
      )
      raise DamagedCheckpointError(
        f'The checkpoint {folder} is damaged: its file {name} {what}.'
      )
    if self._run_digests is not None:
      changed = checkpoint_manifest.changed_file(
        manifest['run'], self._run_digests(version)
      )
      if changed is not None:
        raise DamagedCheckpointError(
          f'{changed} is not what it was when the checkpoint {folder} was '
          'saved, or that is the checkpoint of another run.'
        )
    return manifest


def _checksums(folder: pathlib.Path) -> dict[str, str]:
  """Returns the SHA-256 of each file but the manifest, by relative path."""
  return {
    path.relative_to(folder).as_posix(): regular_files.digest(path)
    for path in sorted(folder.rglob('*'))
    if path.is_file() and path != folder / checkpoint_manifest.FILE_NAME
  }


def _names(leaves: Sequence[Any]) -> list[str]:
  return [str(i) for i in range(len(leaves))]


def _describe(leaf: Any) -> str:
  array = np.asarray(leaf)
  dtype = 'string' if array.dtype.kind in 'SUO' else array.dtype.name
  return f'{dtype}{list(array.shape)}'


def _first_difference(found: list[str], expected: list[str]) -> str:
  if len(found) != len(expected):
    return f'{len(found)} tensors, {len(expected)} were expected'
  index = next(i for i, f in enumerate(found) if f != expected[i])
  return f'tensor {index} is {found[index]}, {expected[index]} was expected'


def _unreadable_error(
  folder: pathlib.Path, error: Exception
) -> DamagedCheckpointError:
  return DamagedCheckpointError(
    f'The checkpoint {folder} cannot be read: {str(error).rstrip(".")}.'
  )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints with a checksum, in place of TFF's file program state manager.

`tff.program.FileProgramStateManager` does not notice a state that was damaged
after it was written, and writes each as a SavedModel, with a graph that takes a
tenth of a second. Here a checkpoint is one .npz file, written atomically. It
holds a manifest and the tensors, numbered in the structure's order. Dtypes and
shapes are compared before an array is read, and reading it verifies the
archive's checksum of it. A damaged checkpoint is skipped, and so is one that
does not match the run's other files by their digests in the manifest.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import os
import pathlib
from typing import Any
import zipfile

from fedfish_tff import errors
from fedfish_tff import new_files
from fedfish_tff.datasets import npz_files
from fedfish_tff.simulation import checkpoint_manifest
from fedfish_tff.simulation import files

from absl import logging
from google.protobuf import message
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# NumPy's own numeric kinds, which an .npz file stores unchanged.
_PLAIN_KINDS = 'biufc'


class DamagedCheckpointError(errors.InputError):
  """A checkpoint that cannot be read or differs from what was saved."""


class CheckpointManager(tff.program.ProgramStateManager[Any]):
  """A `tff.program.ProgramStateManager` of states with a checksum.

  A state is any structure of tensors that `tf.nest` can flatten. A loaded state
  equals the saved one bit for bit.
  """

  def __init__(
    self,
    root_dir: str | os.PathLike[str],
    *,
    keep_total: int = 2,
    keep_versions: Callable[[], Collection[int]] = tuple,
    run_digests: Callable[[int], Mapping[str, str]] | None = None,
  ) -> None:
    """Creates the folder if it does not exist; reads nothing.

    Args:
      root_dir: The folder of the checkpoints.
      keep_total: The number of newest checkpoints to keep, at least 1. With two
        or more, a run survives a damaged checkpoint.
      keep_versions: The function that returns further versions to keep; called
        at each save. Each takes the disk space of a checkpoint.
      run_digests: The function from a version to digests of the run's other
        files by name, such as `Workdir.digests`. A state is loaded only if they
        equal those that it was saved with.
    """
    errors.check_positive_integer('keep_total', keep_total)
    self._root_dir = files.make_folder(root_dir)
    self._keep_total = keep_total
    self._keep_versions = keep_versions
    self._run_digests = run_digests

  async def get_versions(self) -> list[int] | None:
    """Returns the versions, damaged ones included; None without any."""
    return checkpoint_manifest.versions_in(self._root_dir) or None

  async def load(self, version: int, structure: Any) -> Any:
    """Returns a saved state after verifying its checksum.

    Args:
      version: The round of the state.
      structure: A state of the same structure; its values do not matter.

    Returns:
      The state, with NumPy arrays and scalars as leaves.

    Raises:
      tff.program.ProgramStateNotFoundError: If there is no such version.
      DamagedCheckpointError: If the checkpoint cannot be read or differs from
        what was saved.
    """
    expected = [_describe(leaf) for leaf in tf.nest.flatten(structure)]
    try:
      leaves = self._read(version, expected)
    except FileNotFoundError as error:
      raise tff.program.ProgramStateNotFoundError(version) from error
    return tf.nest.pack_sequence_as(structure, leaves)

  async def load_latest(self, structure: Any) -> tuple[Any, int]:
    """Returns the newest undamaged state and its version.

    Each damaged checkpoint that is skipped is logged as a warning. If all are
    damaged, it is an error.

    Args:
      structure: A state of the same structure; its values do not matter.

    Returns:
      (state, version); (None, 0) if nothing was saved.
    """
    versions = await self.get_versions()
    if versions is None:
      return None, 0
    for version in reversed(versions):
      try:
        return await self.load(version, structure), version
      except tff.program.ProgramStateNotFoundError as error:
        # A reader does not stop the run from going on.
        raise errors.InputError(
          f'{self._path(version)} was removed while it was read; run the same '
          'command again.'
        ) from error
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
    """Saves a state, then removes old ones; leftovers of a crash go first.

    Earlier checkpoints stay intact if the file cannot be written, such as on a
    full disk.

    Args:
      program_state: The state, a structure of arrays.
      version: The version, larger than that of the last state loaded or saved.
        Damaged checkpoints from this version on are replaced.

    Raises:
      tff.program.ProgramStateExistsError: If this version already exists and
        is not damaged.
    """
    path = self._path(version)
    leaves = tf.nest.flatten(await tff.program.materialize_value(program_state))
    tensors = [_describe(leaf) for leaf in leaves]
    try:
      new_files.remove_temporaries(self._root_dir)
      if self._remove_damaged_from(version, tensors):
        raise tff.program.ProgramStateExistsError(
          version=version, path=self._root_dir
        )
      manifest = {
        'round': version,
        'run': self._run_digests(version) if self._run_digests else {},
        'tensors': tensors,
      }
      with new_files.new_file(path) as file:
        npz_files.write_npz(
          file,
          {
            checkpoint_manifest.ARRAY: checkpoint_manifest.write(manifest),
            **{str(i): _to_array(leaf) for i, leaf in enumerate(leaves)},
          },
        )
      self.remove_old(version)
    except OSError as error:
      raise files.unwritable_error(path, error) from error

  def remove_old(self, *kept: int) -> None:
    """Removes old versions, except those to keep; a kill may leave some."""
    kept = {*kept, *self._keep_versions()}
    versions = checkpoint_manifest.versions_in(self._root_dir)
    for old in versions[: -self._keep_total]:
      if old not in kept:
        self._remove(old)

  def remove_after(self, version: int) -> None:
    """Removes later versions, which the resumed run has not reached."""
    for later in checkpoint_manifest.versions_in(self._root_dir):
      if later > version:
        logging.warning('Removing %s.', self._path(later))
        self._remove(later)

  def _path(self, version: int) -> pathlib.Path:
    return checkpoint_manifest.checkpoint_path(self._root_dir, version)

  def _remove(self, version: int) -> None:
    try:
      self._path(version).unlink()
    except OSError as error:
      # Such as another user's file, which does no harm.
      logging.warning('Cannot remove %s: %s', self._path(version), error)

  def _remove_damaged_from(self, version: int, expected: list[str]) -> bool:
    """Removes damaged versions from this one on; returns if it is sound."""
    is_sound = False
    for other in checkpoint_manifest.versions_in(self._root_dir):
      if other < version:
        continue
      try:
        self._read(other, expected)
        is_sound |= other == version
      except DamagedCheckpointError:
        logging.warning('Removing the damaged %s.', self._path(other))
        self._remove(other)
    return is_sound

  def _read(self, version: int, expected: list[str]) -> list[Any]:
    """Returns the tensors of a version.

    Args:
      version: The round of the state.
      expected: The descriptions of its tensors.

    Raises:
      FileNotFoundError: If there is no such version.
      DamagedCheckpointError: If it cannot be read, differs from what was saved,
        or belongs to another round or run.
    """
    path = self._path(version)
    try:
      with npz_files.open_archive(path) as archive:
        manifest = checkpoint_manifest.read(archive)
        self._check(manifest, version, expected)
        return [
          _from_archive(archive, str(i), tensor)
          for i, tensor in enumerate(expected)
        ]
    except FileNotFoundError:
      raise
    except (
      *npz_files.NPZ_READ_ERRORS,
      message.DecodeError,
      tf.errors.OpError,
    ) as error:
      raise DamagedCheckpointError(
        f'The checkpoint {path} is damaged or cannot be read: '
        f'{errors.first_line(error)}.'
      ) from error

  def _check(
    self, manifest: Mapping[str, Any], version: int, expected: list[str]
  ) -> None:
    """Raises what `_read` does of a manifest."""
    path, found = self._path(version), manifest['tensors']
    if manifest['round'] != version:
      raise DamagedCheckpointError(
        f'The checkpoint {path} is damaged: it is that of round '
        f'{manifest["round"]}.'
      )
    if self._run_digests is not None:
      changed = checkpoint_manifest.changed_file(
        manifest['run'], self._run_digests(version)
      )
      if changed is not None:
        raise DamagedCheckpointError(
          f'{changed} is not what it was when the checkpoint {path} was saved, '
          'or that is the checkpoint of another run.'
        )
    if found != expected:
      raise errors.InputError(
        f'The checkpoint {path} holds other tensors than the run: '
        f'{_first_difference(found, expected)}; it is of another model or '
        'method, or of another version of the code.'
      )


def _to_array(leaf: Any) -> np.ndarray:
  """Returns a tensor as an array that .npz files hold without pickling."""
  array = np.asarray(leaf)
  if array.dtype.kind in _PLAIN_KINDS:
    return array
  # Strings, and numeric types that NumPy lacks, such as bfloat16.
  return np.frombuffer(tf.io.serialize_tensor(array).numpy(), np.uint8)


def _from_archive(archive: zipfile.ZipFile, name: str, expected: str) -> Any:
  """Returns the tensor that `_to_array` was given.

  Args:
    archive: An open checkpoint.
    name: The array's name, the tensor's number.
    expected: The tensor's description by `_describe`.

  Raises:
    npz_files.NPZ_READ_ERRORS: If the array cannot be read or holds another
      tensor.
    message.DecodeError: If the array holds no tensor.
    tf.errors.OpError: The same.
  """
  dtype = tf.as_dtype(expected.partition('[')[0])
  if np.dtype(dtype.as_numpy_dtype).kind in _PLAIN_KINDS:
    shape, found = npz_files.read_npz_header(archive, name)
    _check_description(f'{found.name}{list(shape)}', expected)
    return npz_files.read_npz_array(archive, name)[()]
  content = npz_files.read_npz_array(archive, name).tobytes()
  # A few bytes can stand for a tensor of one value repeated.
  proto = type(tf.make_tensor_proto(0)).FromString(content)
  is_same = proto.dtype == dtype.as_datatype_enum
  shape = [dim.size for dim in proto.tensor_shape.dim]
  _check_description(
    f'{dtype.name if is_same else f"type {proto.dtype}"}{shape}', expected
  )
  return tf.io.parse_tensor(content, dtype).numpy()


def _check_description(found: str, expected: str) -> None:
  if found != expected:
    raise ValueError(f'it holds {found} in the place of {expected}')


def _describe(leaf: Any) -> str:
  array = np.asarray(leaf)
  dtype = 'string' if array.dtype.kind in 'SUO' else array.dtype.name
  return f'{dtype}{list(array.shape)}'


def _first_difference(found: list[str], expected: list[str]) -> str:
  if len(found) != len(expected):
    return f'it must have {len(expected)} tensors, got {len(found)}'
  index = next(i for i, f in enumerate(found) if f != expected[i])
  return f'tensor {index} must be {expected[index]}, got {found[index]}'

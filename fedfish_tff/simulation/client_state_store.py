# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where clients' states are between the rounds they take part in.

A folder holds, for every client, the state after each round that a kept
checkpoint may be resumed from: memory does not grow with the number of clients,
and a run that is killed goes on with exactly the states of its checkpoint.
"""

import bisect
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import json
import os
import pathlib
import shutil
from typing import Any

from fedfish_tff import errors
from fedfish_tff.simulation import client_state_files
from fedfish_tff.simulation import files

_MARKER = 'last_round.json'


class ClientStateStore:
  """States by client and round, in memory or in a folder.

  A training loop calls `reset` when it starts and `rewind` when it resumes;
  then `load` and `save` in each round, and `commit` after it.
  """

  def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
    """Reads and writes nothing yet.

    Args:
      folder: Where the states are, in files of a folder for each client, which
        are nobody else's; made when the first are saved. None to have them in
        memory, from where no run can be resumed.
    """
    self._folder = None if folder is None else pathlib.Path(folder)
    # Of a store without folder: states by client and round.
    self._states: dict[str, dict[int, Any]] = {}
    self._last_round = 0
    # Clients with more than one state, by folder or id: those that came after
    # the oldest of the kept checkpoints.
    self._with_several: set[str] = set()

  @property
  def folder(self) -> pathlib.Path | None:
    """The folder, if there is one."""
    return self._folder

  def has_state(self, client_id: str) -> bool:
    """Whether a client has a state, which is not read.

    Args:
      client_id: The client.
    """
    return bool(self._rounds(self._key(client_id)))

  def load(
    self, client_id: str, structure: Any, *, round_number: int | None = None
  ) -> Any | None:
    """Returns a client's newest state; None if it has none.

    Args:
      client_id: The client.
      structure: A state of the same structure, with values of any content.
      round_number: The round whose state is asked for, if there are newer ones.

    Raises:
      errors.InputError: If the state cannot be read, is damaged, or is of
        another structure.
    """
    rounds = self._rounds(self._key(client_id))
    if round_number is not None:
      rounds = rounds[: bisect.bisect(rounds, round_number)]
    if not rounds:
      return None
    if self._folder is None:
      return self._states[client_id][rounds[-1]]
    return client_state_files.read_state(
      self._path(self._key(client_id), rounds[-1]),
      structure,
      client_id=client_id,
    )

  def save(self, round_number: int, states: Mapping[str, Any]) -> None:
    """Saves the states of a round's clients; older ones are kept.

    Args:
      round_number: The round; not before that of the last call.
      states: By client, a structure of numeric arrays.

    Raises:
      errors.InputError: If one cannot be written.
    """
    for client_id, state in states.items():
      key = self._key(client_id)
      if self._folder is None:
        self._states.setdefault(key, {})[round_number] = state
      else:
        path = self._path(key, round_number)
        files.make_folder(path.parent)
        client_state_files.write_state(path, state)
      if len(self._rounds(key)) > 1:
        self._with_several.add(key)
    self._write_last_round(round_number)

  def commit(self, kept_rounds: Collection[int]) -> None:
    """Removes the states that none of the given rounds can be resumed with.

    Args:
      kept_rounds: The rounds that the run may be resumed from, and the last
        that is done. States of later rounds are kept.

    Raises:
      errors.InputError: If a file cannot be removed.
    """
    kept = sorted(kept_rounds)
    for key in sorted(self._with_several):
      rounds = self._rounds(key)
      needed = {
        rounds[index - 1] for k in kept if (index := bisect.bisect(rounds, k))
      }
      needed.update(r for r in rounds if not kept or r > kept[-1])
      self._remove(key, [r for r in rounds if r not in needed])
      if len(needed) < 2:
        self._with_several.discard(key)

  def rewind(self, round_number: int) -> None:
    """Removes the states of later rounds, to resume after a round.

    Args:
      round_number: The round of the checkpoint.

    Raises:
      errors.InputError: If the states of that round are not here; nothing was
        changed then.
    """
    last_round = self._read_last_round()
    if last_round is None or last_round < round_number:
      where = (
        'Client states in memory end'
        if self._folder is None
        else f'{self._folder} ends'
      )
      raise errors.InputError(
        f'{where} with '
        + ('no round' if last_round is None else f'round {last_round}')
        + f', but the checkpoint is that of round {round_number}: client '
        'states were lost. '
        + (
          'Give the store a folder, to resume from it.'
          if self._folder is None
          else 'Restore the folder, or start afresh with --overwrite.'
        )
      )
    self._with_several.clear()
    for key in self._keys():
      self._remove_leftovers(key)
      rounds = self._rounds(key)
      self._remove(key, [r for r in rounds if r > round_number])
      if bisect.bisect(rounds, round_number) > 1:
        self._with_several.add(key)
    self._write_last_round(round_number)

  def reset(self, round_number: int) -> None:
    """Removes all states, to start after a round that no client has one of.

    Args:
      round_number: The round, 0 as a rule.

    Raises:
      errors.InputError: If a file cannot be removed.
    """
    self._with_several.clear()
    for key in list(self._keys()):
      if self._folder is None:
        del self._states[key]
        continue
      path = self._folder / key
      try:
        shutil.rmtree(path)
      except OSError as error:
        raise files.unwritable_error(path, error) from error
    self._write_last_round(round_number)

  def _key(self, client_id: str) -> str:
    if self._folder is None:
      return client_id
    return client_state_files.folder_name(client_id)

  def _keys(self) -> Iterable[str]:
    if self._folder is None:
      return self._states
    if not self._folder.is_dir():
      return ()
    return (
      entry.name
      for entry in os.scandir(self._folder)
      if client_state_files.is_folder_name(entry.name)
    )

  def _path(self, key: str, round_number: int) -> pathlib.Path:
    return self._folder / key / client_state_files.file_name(round_number)

  def _rounds(self, key: str) -> list[int]:
    if self._folder is None:
      return sorted(self._states.get(key, ()))
    return client_state_files.list_rounds(self._folder / key)

  def _remove(self, key: str, rounds: Iterable[int]) -> None:
    for round_number in rounds:
      if self._folder is None:
        del self._states[key][round_number]
        continue
      path = self._path(key, round_number)
      try:
        path.unlink(missing_ok=True)
      except OSError as error:
        raise files.unwritable_error(path, error) from error

  def _remove_leftovers(self, key: str) -> None:
    if self._folder is None:
      return
    path = self._folder / key
    try:
      client_state_files.remove_leftovers(path)
    except OSError as error:
      raise files.unwritable_error(path, error) from error

  def _read_last_round(self) -> int | None:
    if self._folder is None:
      return self._last_round
    path = self._folder / _MARKER
    try:
      last_round = json.loads(path.read_bytes())
    except FileNotFoundError:
      return None
    except OSError as error:
      raise errors.InputError(
        f'Cannot read {path}: {error.strerror}.'
      ) from error
    except ValueError:
      last_round = None
    if not isinstance(last_round, int):
      raise errors.InputError(
        f'{path} is damaged: it holds no round; restore it, or start afresh '
        'with --overwrite.'
      )
    return last_round

  def _write_last_round(self, round_number: int) -> None:
    # Last of all: it says that the states up to the round are here.
    self._last_round = round_number
    if self._folder is not None:
      files.make_folder(self._folder)
      files.write_atomically(
        self._folder / _MARKER, json.dumps(round_number).encode()
      )

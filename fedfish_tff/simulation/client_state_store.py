# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Storage of clients' states between their rounds.

The store is one SQLite file. New states are in memory until the next checkpoint,
or until they are many, and then one transaction writes them: a kill at any
moment leaves all of them or none. The store keeps the states that a run needs to
resume from any kept checkpoint. Each state has a checksum that covers its client
and round. The checkpoint holds the digest, the sum of the checksums of the
clients' newest states. So a state that is damaged, missing, another client's or
older than the checkpoint is an error.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import functools
import itertools
import json
import os
import pathlib
import sqlite3
from typing import Any
from typing import Self
import zlib

from fedfish_tff import errors
from fedfish_tff import locks
from fedfish_tff import regular_files

import numpy as np
import tensorflow as tf

# With the default journal instead of WAL, the store is a single file between
# two transactions, and a large state is written once. With EXTRA, one survives a
# power failure. A state of 195 kB takes 0.7 of the time that it takes with pages
# of 4 kB, a new store's default. With SQLite's own 2 MB of cache, a round of 16
# such states takes 1.2 times as long, because it is written in parts.
_SETTINGS = """
  PRAGMA page_size = 16384;
  PRAGMA cache_size = -16384;
  PRAGMA synchronous = EXTRA;
  PRAGMA secure_delete = OFF;
  PRAGMA foreign_keys = ON;
"""
# Client ids are blobs, since they need not be UTF-8. `until` is the round of
# the client's next visit.
_TABLES = """
  BEGIN;
  CREATE TABLE visits (
    id INTEGER PRIMARY KEY, client BLOB NOT NULL, round INTEGER NOT NULL,
    until INTEGER, checksum INTEGER NOT NULL, UNIQUE (client, round));
  CREATE INDEX visits_until ON visits (until)
    WHERE until IS NOT NULL;
  CREATE INDEX visits_round ON visits (round)
    WHERE until IS NOT NULL;
  CREATE TABLE states (
    id INTEGER PRIMARY KEY REFERENCES visits ON DELETE CASCADE,
    arrays TEXT NOT NULL, value BLOB NOT NULL);
  COMMIT;
"""
# The last bytes of a journal that names another file, see `_check_journal`.
_JOURNAL_MAGIC = bytes.fromhex('d9d505f920a163d7')
# The condition in brackets is for speed: it skips rows that the first kept
# round needs.
_PRUNE = """
  DELETE FROM visits WHERE
    (round > :first AND until IS NOT NULL OR until <= :first)
    AND NOT EXISTS (
      SELECT 1 FROM json_each(:kept) WHERE round <= value AND value < until)
"""
_LOAD = """
  SELECT round, checksum, arrays, CAST(value AS BLOB)
  FROM visits LEFT JOIN states USING (id)
  WHERE client = ? AND round <= ? ORDER BY round DESC LIMIT 1
"""
_DIGEST = """
  SELECT COALESCE(SUM(checksum), 0) FROM visits
  WHERE round <= :round AND (until IS NULL OR until > :round)
"""
_LAST_ROUND = 2**63 - 1
# States of more bytes are written at once. A small one counts as 1 kB, which is
# about what its Python objects take.
_MOST_HELD_BYTES = 2**26
_BYTES_OF_A_STATE = 1000
_ADVICE = '; restore it, or start afresh with --overwrite.'


@dataclasses.dataclass(frozen=True)
class _Visit:
  """A client's state after a round, as it is stored."""

  client_id: str
  round_number: int
  arrays: str
  value: bytes
  checksum: int

  @property
  def size(self) -> int:
    """About the bytes that the state takes in memory."""
    return _BYTES_OF_A_STATE + len(self.value)

  @classmethod
  def create(cls, client_id: str, round_number: int, state: Any) -> Self:
    arrays, value = _encode(state)
    checksum = _checksum(client_id, round_number, arrays, value)
    return cls(client_id, round_number, arrays, value, checksum)


class ClientStateStore:
  """States by client and round, in memory or in a file.

  A training loop calls `reset` when it starts or `rewind` when it resumes, then
  `load` and `save` in each round, and `flush` before each checkpoint. With a
  file, memory does not grow with the number of clients. A state has at most 1e9
  bytes, SQLite's limit.

  Attributes:
    digest: The digest of the states after the last `save`, which `rewind`
      takes.
  """

  def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
    """Opens or creates the file.

    Args:
      path: The file, in an existing folder. None to keep the states in memory,
        from which no run can resume.
    """
    self._name = 'memory' if path is None else os.fspath(path)
    self.digest = 0
    self._forget()
    with self._input_errors(f'{self._name} cannot be opened'):
      if path is not None:
        # SQLite, too, puts the journal beside the file that a link leads to.
        path = os.path.realpath(path)
        # Not by opening it: closing would free this process's locks.
        if os.path.isfile(path) and os.stat(path).st_nlink > 1:
          raise sqlite3.OperationalError(regular_files.OTHER_NAME)
        _check_journal(path)
        path = pathlib.Path(path).as_uri()
        if locks.are_dispensable():
          path += '?vfs=unix-none'  # SQLite's file system without locks.
      self._connection = sqlite3.connect(
        path or ':memory:', uri=True, check_same_thread=False
      )
      self._connection.executescript(_SETTINGS)
      if not _read_schema(self._connection):
        self._connection.executescript(_TABLES)
      _check_schema(self._connection)

  def has_state(
    self, client_id: str, *, round_number: int = _LAST_ROUND
  ) -> bool:
    """Returns whether a client has a state, without reading the state.

    Args:
      client_id: The id of a client, which need not have been in a round.
      round_number: The round; states of later rounds do not count.
    """
    return self._newest_round(client_id, round_number) is not None

  def load(
    self, client_id: str, structure: Any, *, round_number: int = _LAST_ROUND
  ) -> Any | None:
    """Returns a client's newest state; None before its first visit.

    A state that is missing or damaged, or belongs to another client or round,
    is an error, never a fresh one.

    Args:
      client_id: The id of a client, which need not have been in a round.
      structure: A state of the same structure; its values do not matter.
      round_number: The round; states of later rounds do not count.

    Returns:
      The state, with NumPy arrays, which may be read-only, and scalars as
      leaves.
    """
    whose = f'The state of client {client_id!r} in {self._name}'
    visit = self._find_held(client_id, round_number)
    if visit is not None:
      arrays, value = visit.arrays, visit.value
    else:
      with self._input_errors(f'{whose} cannot be read'):
        row = self._connection.execute(
          _LOAD, (_key(client_id), round_number)
        ).fetchone()
      if row is None:
        return None
      found_round, checksum, arrays, value = row
      if value is None:
        raise errors.InputError(f'{whose} is missing{_ADVICE}')
      if checksum != _checksum(client_id, found_round, arrays, value):
        raise errors.InputError(
          f'{whose} is damaged, or that of another client or round{_ADVICE}'
        )
    templates = _arrays_of(structure)
    described = _describe(templates)
    if arrays != described:
      pairs = itertools.zip_longest(
        arrays.split('; '), described.split('; '), fillvalue='none'
      )
      for index, (found, expected) in enumerate(pairs):
        if found != expected:
          raise errors.InputError(
            f'{whose} is that of another process: array {index} must be '
            f'{expected}, got {found}.'
          )
    leaves, offset = [], 0
    for template in templates:
      leaf = np.ndarray(template.shape, template.dtype, value, offset)
      # Contexts take immutable, aligned memory as it is. The index turns 0-d
      # arrays into scalars.
      leaves.append(np.require(leaf, requirements='A')[()])
      offset += leaf.nbytes
    return tf.nest.pack_sequence_as(structure, leaves)

  def save(
    self,
    round_number: int,
    states: Mapping[str, Any],
    *,
    kept_rounds: Collection[int],
  ) -> None:
    """Saves the states of a round's clients, in memory if they have room.

    Args:
      round_number: The round, later than that of the last call.
      states: The state of each client, a structure of numeric arrays, by id.
      kept_rounds: The rounds that the run may resume from. Older states that
        none of them needs are removed.
    """
    before = round_number - 1
    if any(self._first_held <= kept < before for kept in kept_rounds):
      self.flush(kept_rounds=kept_rounds)
    size = sum(map(_size, states.values()))
    # What the last call replaced is not needed any more.
    size += self._held_bytes - sum(v.size for v in self._replaced.values())
    if size > _MOST_HELD_BYTES:
      self._write(round_number, states, kept_rounds)
      return
    visits = [_Visit.create(c, round_number, s) for c, s in states.items()]
    digest = self.digest
    for visit in visits:
      digest += visit.checksum - self._newest_checksum(visit.client_id)
    # Ctrl-C may come anywhere from here on. Then the run resumes from the round
    # before, of which all states stay.
    self._replaced.clear()
    for visit in visits:
      if visit.client_id in self._held:
        self._replaced[visit.client_id] = self._held[visit.client_id]
      self._held[visit.client_id] = visit
    self._held_bytes = size
    self._first_held = min(self._first_held, round_number)
    self.digest = digest

  def flush(self, *, kept_rounds: Collection[int]) -> None:
    """Writes the states that are in memory alone, all or none of them.

    Args:
      kept_rounds: The rounds that the run may resume from, such as that of a
        checkpoint to be written. Older states that none of them needs are
        removed.
    """
    if self._held:
      self._write(0, {}, kept_rounds)

  def rewind(
    self,
    round_number: int,
    digest: int,
    visitors: Iterable[tuple[int, Iterable[str]]],
  ) -> None:
    """Removes the states of later rounds, to resume after a round.

    If the states of that round are not here, it raises an error and changes
    nothing that is written.

    Args:
      round_number: The round of a checkpoint.
      digest: The store's digest after that round.
      visitors: Each round from this one back to the first, with its clients;
        read only to name the client of a lost state.
    """
    self._forget()
    self.check(round_number, digest, visitors)
    with self._changes() as execute:
      execute('DELETE FROM visits WHERE round > ?', (round_number,))
      execute('UPDATE visits SET until = NULL WHERE until > ?', (round_number,))
    self.digest = digest

  def check(
    self,
    round_number: int,
    digest: int,
    visitors: Iterable[tuple[int, Iterable[str]]],
  ) -> None:
    """Checks that the visits up to a round are those of its checkpoint.

    `load` checks each state.

    Args:
      round_number: The round of a checkpoint.
      digest: The store's digest after that round.
      visitors: Each round from this one back to the first, with its clients;
        read only to name the client of a lost state.
    """
    with self._input_errors(f'{self._name} cannot be read'):
      # With a damaged index, the digest could count a visit that a look-up by
      # client does not find.
      (damage,) = self._connection.execute(
        'PRAGMA integrity_check(visits)'
      ).fetchone()
      (found,) = self._connection.execute(
        _DIGEST, {'round': round_number}
      ).fetchone()
    if damage != 'ok':
      raise errors.InputError(f'{self._name} is damaged: {damage}{_ADVICE}')
    if found != digest:
      raise errors.InputError(
        self._describe_loss(round_number, visitors) + _ADVICE
      )

  def reset(self) -> None:
    """Removes all states for a new start."""
    self._forget()
    with self._changes() as execute:
      execute('DELETE FROM states')
      execute('DELETE FROM visits')
    self.digest = 0

  def _forget(self) -> None:
    """Forgets what is in memory alone."""
    # The newest visits of clients, and those before that the round before needs.
    self._held: dict[str, _Visit] = {}
    self._replaced: dict[str, _Visit] = {}
    self._held_bytes = 0
    self._first_held = _LAST_ROUND

  def _find_held(self, client_id: str, round_number: int) -> _Visit | None:
    """Returns a client's newest visit up to a round, if it is in memory."""
    for held in (self._held, self._replaced):
      visit = held.get(client_id)
      if visit is not None and visit.round_number <= round_number:
        return visit
    return None

  def _newest_checksum(self, client_id: str) -> int:
    """Returns the checksum of a client's newest state, 0 for none."""
    if client_id in self._held:
      return self._held[client_id].checksum
    with self._input_errors(f'{self._name} cannot be read'):
      (checksum,) = self._connection.execute(
        'SELECT COALESCE(SUM(checksum), 0) FROM visits '
        'WHERE client = ? AND until IS NULL',
        (_key(client_id),),
      ).fetchone()
    return checksum

  def _write(
    self,
    round_number: int,
    states: Mapping[str, Any],
    kept_rounds: Collection[int],
  ) -> None:
    """Writes what is held and the states of a round, in one transaction."""
    digest, kept = self.digest, list(kept_rounds)
    with self._changes() as execute:
      for visit in (*self._replaced.values(), *self._held.values()):
        _insert(execute, visit)
      # One by one, so that only one is in memory twice.
      for client_id, state in states.items():
        visit = _Visit.create(client_id, round_number, state)
        digest += visit.checksum - self._newest_checksum(client_id)
        _insert(execute, visit)
      execute(
        _PRUNE, {'first': min(kept, default=-1), 'kept': json.dumps(kept)}
      )
    self._forget()
    self.digest = digest

  @contextlib.contextmanager
  def _changes(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
    """Yields a transaction: committed at the end, undone by any error."""
    with self._input_errors(f'Cannot write {self._name}'), self._connection:
      yield self._connection.execute

  @contextlib.contextmanager
  def _input_errors(self, what: str) -> Iterator[None]:
    try:
      yield
    except (
      sqlite3.OperationalError,
      sqlite3.DataError,
      OverflowError,
    ) as error:
      # Such as a full disk or too large a state; the file is intact, so the
      # advice to restore it is left out.
      raise errors.InputError(f'{what}: {error}.') from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
      raise errors.InputError(f'{what}: {error}{_ADVICE}') from error

  def _newest_round(self, client_id: str, round_number: int) -> int | None:
    visit = self._find_held(client_id, round_number)
    if visit is not None:
      return visit.round_number
    with self._input_errors(f'{self._name} cannot be read'):
      (found,) = self._connection.execute(
        'SELECT MAX(round) FROM visits WHERE client = ? AND round <= ?',
        (_key(client_id), round_number),
      ).fetchone()
    return found

  def _describe_loss(
    self, round_number: int, visitors: Iterable[tuple[int, Iterable[str]]]
  ) -> str:
    """Names the client of the most recent lost state."""
    seen = set()
    for visit, client_ids in visitors:
      for client_id in client_ids:
        found = self._newest_round(client_id, round_number)
        if client_id not in seen and found != visit:
          what = 'none' if found is None else f'that of round {found}'
          return (
            f'{self._name} must have the state of round {visit} of client '
            f'{client_id!r} to resume after round {round_number}, got {what}'
          )
        seen.add(client_id)
    return (
      f'{self._name} holds other client states than those of the checkpoint of '
      f'round {round_number}'
    )


def _insert(execute: Callable[..., sqlite3.Cursor], visit: _Visit) -> None:
  """Writes a visit, later than all of its client but itself."""
  key = _key(visit.client_id)
  # Ctrl-C at the end of a transaction has it written twice.
  execute(
    'DELETE FROM visits WHERE client = ? AND round >= ?',
    (key, visit.round_number),
  )
  execute(
    'UPDATE visits SET until = ? WHERE client = ? AND until IS NULL',
    (visit.round_number, key),
  )
  row = execute(
    'INSERT INTO visits (client, round, checksum) VALUES (?, ?, ?)',
    (key, visit.round_number, visit.checksum),
  ).lastrowid
  execute(
    'INSERT INTO states VALUES (?, ?, ?)', (row, visit.arrays, visit.value)
  )


def _check_journal(path: str) -> None:
  """Refuses journals that no store leaves.

  When SQLite undoes an interrupted transaction, it deletes the file that the
  end of the journal names. Only transactions over several databases name one,
  and a store has none of these.
  """
  if os.path.exists(f'{path}-wal'):
    raise sqlite3.DatabaseError('it has a write-ahead log, as no store does')
  try:
    with open(f'{path}-journal', 'rb', opener=regular_files.opener) as journal:
      journal.seek(max(0, journal.seek(0, os.SEEK_END) - len(_JOURNAL_MAGIC)))
      if journal.read() == _JOURNAL_MAGIC:
        raise sqlite3.DatabaseError('its journal names another file')
  except FileNotFoundError:
    pass
  except OSError as error:
    raise sqlite3.DatabaseError(
      f'its journal cannot be read ({error.strerror})'
    ) from error


def _read_schema(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
  return connection.execute(
    'SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name'
  ).fetchall()


def _check_schema(connection: sqlite3.Connection) -> None:
  """Refuses tables, views and triggers other than a store's."""
  with contextlib.closing(sqlite3.connect(':memory:')) as empty:
    empty.executescript(_TABLES)
    if _read_schema(connection) != _read_schema(empty):
      raise sqlite3.DatabaseError('its tables are not those of client states')


def _key(client_id: str) -> bytes:
  return client_id.encode('utf-8', 'surrogatepass')


def _checksum(
  client_id: str, round_number: int, arrays: str, value: bytes
) -> int:
  # SQLite can add up the 32-bit checksums of two billion clients.
  first = zlib.crc32(ascii((client_id, round_number, arrays)).encode())
  return zlib.crc32(value, first)


def _size(state: Any) -> int:
  """Returns about the bytes that a state takes as it is stored."""
  leaves = map(np.asarray, tf.nest.flatten(state))
  return _BYTES_OF_A_STATE + sum(leaf.nbytes for leaf in leaves)


def _arrays_of(state: Any) -> list[np.ndarray]:
  """Returns a state's arrays in the byte order of this machine."""
  arrays = map(np.asarray, tf.nest.flatten(state))
  # The name of a dtype, which is stored, leaves out the order.
  return [a.astype(a.dtype.newbyteorder('='), copy=False) for a in arrays]


def _encode(state: Any) -> tuple[str, bytes]:
  """Returns the description of a state's arrays, and their joined bytes."""
  arrays = _arrays_of(state)
  for array in arrays:
    if array.dtype.kind not in 'biufc':
      raise TypeError(
        f'A client state must hold numbers, got an array of {array.dtype}.'
      )
  return _describe(arrays), b''.join(map(np.ascontiguousarray, arrays))


def _describe(arrays: Iterable[np.ndarray]) -> str:
  return '; '.join([_dtype_name(a.dtype) + str(list(a.shape)) for a in arrays])


@functools.cache
def _dtype_name(dtype: np.dtype) -> str:
  # NumPy takes longer to make a name than SQLite to find a state.
  return dtype.name

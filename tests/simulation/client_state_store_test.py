# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the store of client states: what is kept, pruned and refused."""

import collections
import contextlib
import gc
import os
import pathlib
import shutil
import signal
import sqlite3
import struct
import tempfile
import time
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.simulation import client_state_store
from tests import processes

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import psutil
import pytest
import tensorflow as tf
import tensorflow_federated as tff


def _state(value):
  return collections.OrderedDict(
    weights=tff.learning.models.ModelWeights(
      [np.full([2, 3], value, np.float32), np.full([0], value, np.float32)],
      (np.array([value], np.float64),),
    ),
    flag=np.bool_(True),
    last_round=np.int32(value),
  )


def _value(state):
  return None if state is None else int(state['last_round'])


class StoreTestCase(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / 'states.sqlite'

  def _store(self, in_memory=False):
    return client_state_store.ClientStateStore(None if in_memory else self.path)

  def _assert_not_opened(self, message, path=None):
    with self.assertRaisesRegex(errors.InputError, message):
      client_state_store.ClientStateStore(path or self.path)


class ClientStateStoreTest(StoreTestCase):
  @parameterized.parameters(False, True)
  def test_gives_back_what_was_saved_bit_for_bit(self, in_memory):
    saved = _state(-0.0)
    saved['weights'].trainable[0][0, 0] = np.nextafter(np.float32(1), 2)
    saved['weights'].trainable[0][1, 1] = np.nan
    store = self._store(in_memory)
    store.save(1, {'a': saved, 'empty': ()}, kept_rounds=[0])
    if not in_memory:
      store.flush(kept_rounds=[1])
      store = self._store()
    found = store.load('a', _state(9))
    tf.nest.assert_same_structure(found, saved)
    for a, b in zip(tf.nest.flatten(found), tf.nest.flatten(saved)):
      self.assertEqual(np.asarray(a).tobytes(), np.asarray(b).tobytes())
      self.assertEqual(np.asarray(a).dtype, np.asarray(b).dtype)
      self.assertEqual(np.shape(a), np.shape(b))
    found['weights'].trainable[0][0, 0] = 7  # Its own memory.
    self.assertEqual(store.load('empty', ()), ())

  @hypothesis.given(
    st.lists(st.text(st.characters(), max_size=300), unique=True, max_size=8)
  )
  @hypothesis.example(['', 'A', 'a', '\ud800', '\0', '\0a', "'", '1', 'é', 'é'])
  @hypothesis.settings(max_examples=25)
  def test_any_ids(self, client_ids):
    store = self._store(in_memory=True)
    states = {c: _state(i) for i, c in enumerate(client_ids)}
    store.save(1, states, kept_rounds=[0])
    for client_id, state in states.items():
      self.assertEqual(_value(store.load(client_id, state)), _value(state))

  @hypothesis.given(st.data(), st.sampled_from([-1, 4000, 2**26]))
  @hypothesis.settings(max_examples=40)
  def test_every_kept_checkpoint_can_be_resumed_from(self, data, most_bytes):
    """A model: all states ever saved, of which nothing is removed."""
    with (
      tempfile.TemporaryDirectory() as folder,
      mock.patch.object(client_state_store, '_MOST_HELD_BYTES', most_bytes),
    ):
      path = os.path.join(folder, 'states.sqlite')
      store = client_state_store.ClientStateStore(path)
      model, kept, round_number, digests = {}, [0], 0, {0: 0}

      def newest(client_id, last_round):
        rounds = [r for c, r in model if c == client_id and r <= last_round]
        return max(rounds, default=None)

      for _ in range(data.draw(st.integers(1, 10))):
        action = data.draw(
          st.sampled_from(['round', 'checkpoint', 'Ctrl-C', 'kill'])
        )
        if action in ('Ctrl-C', 'kill'):
          if action == 'Ctrl-C' and round_number > kept[-1]:
            # In the next round, or in the middle of the last one.
            kept.append(
              data.draw(
                st.integers(max(round_number - 1, kept[-1]), round_number)
              )
            )
            store.flush(kept_rounds=kept)
          round_number = data.draw(st.sampled_from(kept))
          kept = [k for k in kept if k <= round_number]
          model = {k: v for k, v in model.items() if k[1] <= round_number}
          store = client_state_store.ClientStateStore(path)
          store.rewind(round_number, digests[round_number], ())
        else:
          round_number += 1
          clients = data.draw(st.sets(st.sampled_from('abc')))
          value = data.draw(st.integers(0, 99))
          store.save(
            round_number,
            {c: _state(value) for c in clients},
            kept_rounds={*kept, round_number - 1},
          )
          model.update({(c, round_number): value for c in clients})
          digests[round_number] = store.digest
          if most_bytes < 0:
            # No more and no less than what these rounds need.
            with sqlite3.connect(path) as connection:
              found = connection.execute(
                'SELECT client, round FROM visits JOIN states USING (id)'
              ).fetchall()
            self.assertCountEqual(
              [(c.decode(), r) for c, r in found],
              {
                (c, newest(c, k))
                for c in 'abc'
                for k in (*kept, round_number - 1, round_number)
                if newest(c, k) is not None
              },
            )
          if action == 'checkpoint':
            # The first is for good, as that half-way is.
            store.flush(kept_rounds={*kept, round_number})
            kept = [kept[0], *kept[1:][-1:], round_number]
        for client_id in 'abc':
          for k in (*kept, round_number):
            self.assertEqual(
              _value(store.load(client_id, _state(0), round_number=k)),
              model.get((client_id, newest(client_id, k))),
            )

  def test_many_states_do_not_wait_for_a_checkpoint(self):
    store = self._store()
    with mock.patch.object(client_state_store, '_MOST_HELD_BYTES', 4000):
      for r in range(1, 11):
        store.save(r, {f'client {r}': _state(r)}, kept_rounds=[0, r - 1])
    with sqlite3.connect(self.path) as connection:
      (written,) = connection.execute('SELECT COUNT(*) FROM states').fetchone()
    # Of a little more than 1,000 bytes, three wait, and a fourth does not.
    self.assertEqual(written, 8)

  def test_new_states_of_the_same_clients_wait_for_a_checkpoint(self):
    store = self._store()
    with mock.patch.object(client_state_store, '_MOST_HELD_BYTES', 4000):
      for r in range(1, 9):
        store.save(r, {'a': _state(r)}, kept_rounds=[0, r - 1])
    with sqlite3.connect(self.path) as connection:
      (written,) = connection.execute('SELECT COUNT(*) FROM states').fetchone()
    self.assertEqual(written, 0)

  def test_a_file_that_is_damaged_during_a_run(self):
    store = self._store()
    with sqlite3.connect(self.path) as connection:
      connection.executescript('DROP TABLE states; DROP TABLE visits;')
    with self.assertRaisesRegex(
      errors.InputError, 'sqlite cannot be read: no '
    ):
      store.save(1, {'a': _state(1)}, kept_rounds=[0])

  @parameterized.parameters(False, True)
  def test_reset_removes_every_state(self, in_memory):
    store = self._store(in_memory)
    store.save(3, {'a': _state(3)}, kept_rounds=[2])
    store.reset()
    self.assertIsNone(store.load('a', _state(0)))
    self.assertEqual(store.digest, 0)
    store.save(1, {'a': _state(1)}, kept_rounds=[0])
    self.assertEqual(_value(store.load('a', _state(0))), 1)

  def test_arrays_of_another_byte_order(self):
    store = self._store()
    numbers = np.arange(3)
    store.save(1, {'a': numbers.astype('>f4')}, kept_rounds=[0])
    for dtype in ('<f4', '>f4'):
      found = store.load('a', np.zeros(3, dtype))
      np.testing.assert_array_equal(found, numbers)

  def test_only_numbers_are_stored(self):
    with self.assertRaisesRegex(TypeError, 'numbers, got an array of object'):
      self._store().save(1, {'a': (np.array([{}], object),)}, kept_rounds=[0])

  def test_another_structure_is_refused(self):
    store = self._store()
    store.save(1, {'a/b': _state(5)}, kept_rounds=[0])
    with self.assertRaisesRegex(
      errors.InputError,
      r"client 'a/b'.*array 0.*float32\[2, 3\].*bool\[\]",
    ):
      store.load('a/b', (np.zeros([2, 3], np.float32),))
    other = _state(5)
    other['last_round'] = np.int64(5)
    with self.assertRaisesRegex(
      errors.InputError, r'array 1 must be int64\[\], got int32\[\]'
    ):
      store.load('a/b', other)

  def test_a_file_that_cannot_be_made(self):
    path = self.path.parent / 'missing' / 's'
    self._assert_not_opened('missing/s.* opened: unable', path)

  def test_a_full_disk_or_too_large_a_state_leave_the_round_before(self):
    store = self._store()
    self.assertFalse(store.has_state('a'))
    store.save(1, {'a': _state(1)}, kept_rounds=[0])
    self.assertTrue(store.has_state('a'))
    store.flush(kept_rounds=[1])
    digest = store.digest
    store._connection.execute('PRAGMA max_page_count = 1')
    store.save(2, {'a': _state(2), 'b': np.zeros(10_000)}, kept_rounds=[1])
    with self.assertRaisesRegex(errors.InputError, 'Cannot write .* is full.$'):
      store.flush(kept_rounds=[2])
    store._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000)
    with self.assertRaisesRegex(errors.InputError, 'Cannot write .* too big.$'):
      store.flush(kept_rounds=[2])
    store = self._store()
    store.rewind(1, digest, ())
    self.assertEqual(_value(store.load('a', _state(0))), 1)
    self.assertFalse(store.has_state('b'))


class ForeignFileTest(StoreTestCase):
  """Files that others may have put in a store's place, or beside it."""

  def _interrupt(self):
    """Leaves a transaction that was not finished, as a kill does."""
    store = self._store()
    store.save(1, {'a': _state(1)}, kept_rounds=[0])
    store.flush(kept_rounds=[1])
    child = os.fork()
    if not child:
      connection = sqlite3.connect(self.path)
      connection.execute('PRAGMA cache_size = 1')
      connection.execute('UPDATE visits SET round = 9')
      connection.execute('UPDATE states SET value = zeroblob(100000)')
      os._exit(0)
    os.waitpid(child, 0)
    return pathlib.Path(f'{self.path}-journal')

  def test_a_journal_that_names_another_file(self):
    journal = self._interrupt()
    folder = self.path.parent
    victim = folder / 'victim'
    name = os.fsencode(victim)
    with open(journal, 'ab') as file:
      file.write(
        # The page that SQLite never writes, of the default size.
        struct.pack('>I', 2**30 // 4096 + 1)
        + name
        + struct.pack('>II', len(name), sum(name))
        + bytes.fromhex('d9d505f920a163d7')
      )
    shutil.copytree(folder, folder / 'copy')
    # This is what SQLite makes of it.
    victim.write_text('mine')
    with contextlib.closing(
      sqlite3.connect(folder / 'copy' / self.path.name)
    ) as connection:
      connection.execute('SELECT * FROM visits').fetchall()
    self.assertFalse(victim.exists())
    victim.write_text('mine')
    link = folder / 'link'
    link.symlink_to(self.path)
    for path in (self.path, link):
      self._assert_not_opened(
        f'{path} cannot be opened: its journal names another', path
      )
    self.assertEqual(victim.read_text(), 'mine')
    self.assertTrue(journal.exists())

  @parameterized.parameters(False, True)
  def test_its_own_journal_is_undone(self, without_locks):
    journal = self._interrupt()
    self.assertTrue(journal.exists())
    with contextlib.ExitStack() as stack:
      if without_locks:
        stack.enter_context(
          mock.patch.dict(os.environ, FEDFISH_TFF_WITHOUT_LOCKS='1')
        )
      self.assertEqual(_value(self._store().load('a', _state(0))), 1)
    self.assertFalse(journal.exists())

  def test_locks_of_sqlite_where_they_are_dispensable(self):
    self._store()
    with contextlib.closing(sqlite3.connect(self.path)) as holder:
      holder.execute('BEGIN EXCLUSIVE')
      with mock.patch.dict(os.environ, FEDFISH_TFF_WITHOUT_LOCKS='1'):
        store = self._store()
        store.save(1, {'a': _state(1)}, kept_rounds=[0])
        self.assertEqual(_value(store.load('a', _state(0))), 1)

  def test_a_file_with_another_name(self):
    self._store()
    os.link(self.path, f'{self.path}-backup')
    self._assert_not_opened(f'{self.path} cannot be opened: it has another nam')

  def test_a_write_ahead_log(self):
    self._store()
    pathlib.Path(f'{self.path}-wal').touch()
    self._assert_not_opened('write-ahead log')

  def test_a_journal_that_is_no_file(self):
    self._store()
    os.mkfifo(f'{self.path}-journal')
    self._assert_not_opened('journal cannot be read')

  @parameterized.parameters(
    'CREATE TABLE more (a)',
    'CREATE TRIGGER t AFTER INSERT ON visits BEGIN DELETE FROM states; END',
    'CREATE VIEW v AS SELECT * FROM visits',
    'DROP TABLE states',
  )
  def test_other_tables(self, statement):
    self._store()
    with contextlib.closing(sqlite3.connect(self.path)) as connection:
      connection.execute(statement)
    before = self.path.read_bytes()
    self._assert_not_opened(
      'its tables are not those of client states; restore it'
    )
    self.assertEqual(self.path.read_bytes(), before)


_COHORTS = {1: 'ab', 2: 'bc', 3: 'cd', 4: 'ad'}


def _visitors(round_number):
  return ((r, _COHORTS[r]) for r in range(round_number, 0, -1))


class DamageTest(StoreTestCase):
  """The states of four rounds, with checkpoints of rounds 2 and 4."""

  def setUp(self):
    super().setUp()
    self.digest = self._save(self._store())
    with sqlite3.connect(self.path) as connection:
      # A file with less room that is free.
      connection.execute('PRAGMA page_size = 512')
      connection.execute('VACUUM')

  def _save(self, store, last_round=4, offset=0):
    for r in range(1, last_round + 1):
      store.save(
        r,
        {c: _state(10 * r + ord(c) + offset) for c in _COHORTS[r]},
        kept_rounds={0, r - 1} if r <= 2 else {2, r - 1},
      )
      if r in (2, last_round):
        store.flush(kept_rounds={0 if r == 2 else 2, r})
    return store.digest

  def _resume(self):
    """Resumes, and loads every state; returns their values."""
    store = self._store()
    store.rewind(4, self.digest, _visitors(4))
    return {c: _value(store.load(c, _state(0))) for c in 'abcd'}

  def _assert_refused(self, message):
    with self.assertRaisesRegex(errors.InputError, message):
      self._resume()

  def _damage(self, *statements):
    with sqlite3.connect(self.path) as connection:
      for statement in statements:
        connection.execute(
          statement.replace('NEWEST', 'visits WHERE until IS NULL')
        )

  def test_no_damage(self):
    self.assertEqual(self._resume(), {'a': 137, 'b': 118, 'c': 129, 'd': 140})

  @parameterized.named_parameters(
    (
      'no_value',
      [
        "DELETE FROM states WHERE id = (SELECT id FROM NEWEST AND client = x'63')"
      ],
      "The state of client 'c' in .*states.sqlite is missing; restore it, or",
    ),
    (
      'nothing_of_a_client',
      ["DELETE FROM visits WHERE client = x'62'"],
      "state.*client 'b' to resume after round 4.*restore it",
    ),
    (
      'no_newest_state',
      ["DELETE FROM visits WHERE client = x'63' AND round = 3"],
      "state of round.*client 'c' to resume after round 4.*that of round 2",
    ),
    (
      'swapped_values',
      [
        'UPDATE states SET id = -id',
        "UPDATE states SET id = (SELECT id FROM NEWEST AND client = x'61') "
        "WHERE id = -(SELECT id FROM NEWEST AND client = x'64')",
        "UPDATE states SET id = (SELECT id FROM NEWEST AND client = x'64') "
        "WHERE id = -(SELECT id FROM NEWEST AND client = x'61')",
        'UPDATE states SET id = ABS(id)',
      ],
      "client 'a' in .* is damaged, or that of another client or round; rest",
    ),
    (
      'swapped_clients',
      [
        "UPDATE visits SET client = 'x' WHERE client = x'61'",
        "UPDATE visits SET client = x'61' WHERE client = x'64'",
        "UPDATE visits SET client = x'64' WHERE client = 'x'",
      ],
      "client 'a' in .* is damaged, or that of another client",
    ),
    (
      'an_older_value',
      [
        'UPDATE states SET value = (SELECT value FROM states WHERE id = '
        "(SELECT id FROM visits WHERE client = x'61' AND round = 1)) "
        "WHERE id = (SELECT id FROM NEWEST AND client = x'61')"
      ],
      "client 'a' in .* is damaged, or that of another client or round",
    ),
    (
      'another_checksum',
      ["UPDATE visits SET checksum = checksum + 1 WHERE client = x'62'"],
      'holds other client states than those of the checkpoint of round 4',
    ),
    (
      'text_for_bytes',
      ["UPDATE states SET value = 'text', arrays = 1"],
      "client 'a' in .* is damaged",
    ),
  )
  def test_damaged_rows(self, statements, message):
    self._damage(*statements)
    self._assert_refused(message)

  def test_an_older_copy_of_the_file(self):
    older = client_state_store.ClientStateStore(f'{self.path}.older')
    self._save(older, last_round=3)
    os.replace(f'{self.path}.older', self.path)
    self._assert_refused("state of round.*client 'a'.*round 4.*that of round 1")
    # It reaches to the checkpoint before.
    digest = self._save(client_state_store.ClientStateStore(), last_round=2)
    self._store().rewind(2, digest, ())

  def test_the_file_of_another_run(self):
    self.path.unlink()
    self._save(self._store(), offset=1)
    self._assert_refused('holds other client states than .* of round 4')

  def test_no_file(self):
    self.path.unlink()
    self._assert_refused("state .*client 'a' .*round 4")

  def test_a_truncated_file(self):
    whole = self.path.read_bytes()
    for length in (1, 100, 512, len(whole) // 2, len(whole) - 600):
      self.path.write_bytes(whole[:length])
      self._assert_refused('states.sqlite')

  def _assert_flips_change_no_state(self, step):
    expected = self._resume()
    whole = self.path.read_bytes()
    refused = 0
    for index in range(0, len(whole), step):
      if not index % (50 * step):
        gc.collect()  # Or too many files would be open.
      flipped = bytes([whole[index] ^ (1 << index % 8)])
      self.path.write_bytes(whole[:index] + flipped + whole[index + 1 :])
      try:
        found = self._resume()
      except errors.InputError as error:
        self.assertIn('states.sqlite', str(error))
        refused += 1
        continue
      # Such as in room that is free, which means nothing.
      self.assertEqual(found, expected)
    self.assertGreater(refused, 10)

  def test_some_flipped_bits_change_no_state(self):
    self._assert_flips_change_no_state(29)

  @pytest.mark.slow
  def test_no_flipped_bit_changes_a_state(self):
    self._assert_flips_change_no_state(1)


class KillTest(StoreTestCase):
  """A child that is killed as it saves, as any process may be."""

  def _start(self, kill_at=None):
    """Saves rounds in a child; returns its id and a pipe of their digests."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child:
      os.close(write_end)
      return child, os.fdopen(read_end, 'rb')
    try:
      store = self._store()
      # Writes to the file, and not at the end only.
      store._connection.execute('PRAGMA cache_size = 1')
      statements = []

      def count(statement):
        statements.append(statement)
        if len(statements) == kill_at:
          os.kill(os.getpid(), signal.SIGKILL)

      store._connection.set_trace_callback(count)
      for round_number in range(1, 100 if kill_at is None else 4):
        self._save(store, round_number)
        os.write(write_end, store.digest.to_bytes(8, 'big'))
    finally:
      os._exit(1)

  def _save(self, store, round_number):
    kept = {max(0, round_number - 3), round_number - 1}
    store.save(
      round_number,
      {
        c: np.full(5_000, 100 * round_number + index)
        for index, c in enumerate('abcd')
        if (round_number + index) % 4
      },
      kept_rounds=kept,
    )
    store.flush(kept_rounds=kept | {round_number})

  def _assert_resumes(self, digests):
    """As long as a round was saved before the child said so, it is there."""
    store = self._store()
    digests = [0, *digests]
    last = len(digests) - 1
    store.rewind(last, digests[last], ())
    whole = client_state_store.ClientStateStore()
    for round_number in range(1, last + 3):
      self._save(whole, round_number)
      if round_number > last:
        self._save(store, round_number)
    self.assertEqual(store.digest, whole.digest)
    for client_id in 'abcd':
      found, expected = (
        s.load(client_id, np.zeros(5_000, int)) for s in (store, whole)
      )
      np.testing.assert_array_equal(found, expected)

  def _read_digests(self, pipe):
    return [int.from_bytes(d, 'big') for d in iter(lambda: pipe.read(8), b'')]

  def test_killed_at_any_statement(self):
    num_rounds, statement = 0, 0
    while num_rounds < 3:
      statement += 3  # Sooner or later after each of a client's four.
      child, pipe = self._start(kill_at=statement)
      with pipe, processes.killed_if_hanging(psutil.Process(child)):
        digests = self._read_digests(pipe)
        os.waitpid(child, 0)
      num_rounds = len(digests)
      self._assert_resumes(digests)
      self.path.unlink()
    self.assertGreater(statement, 30)

  def test_killed_at_any_moment(self):
    rng = np.random.default_rng(0)
    for num_rounds in (1, 4, 7):
      child, pipe = self._start()
      with pipe, processes.killed_if_hanging(psutil.Process(child)):
        digests = [
          int.from_bytes(pipe.read(8), 'big') for _ in range(num_rounds)
        ]
        time.sleep(rng.uniform(0, 0.01))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        digests += self._read_digests(pipe)
      self._assert_resumes(digests)
      self.path.unlink()

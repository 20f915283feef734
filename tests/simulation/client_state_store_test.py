# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the store of client states: what is kept, pruned and refused."""

import collections
import os
import pathlib
import tempfile

from fedfish_tff import errors
from fedfish_tff.simulation import client_state_store

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def _state(value):
  return collections.OrderedDict(
    weights=tff.learning.models.ModelWeights(
      [np.full([2, 3], value, np.float32), np.full([0], value, np.float32)],
      (np.array([value], np.float64),),
    ),
    last_round=np.int32(value),
  )


def _value(state):
  return None if state is None else int(state['last_round'])


class ClientStateStoreTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path) / 'states'

  def _store(self, in_memory=False):
    return client_state_store.ClientStateStore(
      None if in_memory else self.folder
    )

  def _files(self):
    return sorted(
      path.relative_to(self.folder).as_posix()
      for path in self.folder.rglob('*.npz')
    )

  def test_gives_back_what_was_saved_bit_for_bit(self):
    saved = _state(-0.0)
    saved['weights'].trainable[0][0, 0] = np.nextafter(np.float32(1), 2)
    saved['weights'].trainable[0][1, 1] = np.nan
    self._store().save(1, {'a': saved})
    found = self._store().load('a', _state(9))
    tf.nest.assert_same_structure(found, saved)
    for a, b in zip(tf.nest.flatten(found), tf.nest.flatten(saved)):
      self.assertEqual(np.asarray(a).tobytes(), np.asarray(b).tobytes())
      self.assertEqual(np.asarray(a).dtype, np.asarray(b).dtype)
      self.assertEqual(np.shape(a), np.shape(b))

  @parameterized.parameters(False, True)
  def test_the_newest_or_that_of_a_round(self, in_memory):
    store = self._store(in_memory)
    self.assertIsNone(store.load('a', _state(0)))
    self.assertFalse(store.has_state('a'))
    for round_number in (2, 9, 10):  # As names, 10 comes before 9.
      store.save(round_number, {'a': _state(round_number)})
    self.assertEqual(_value(store.load('a', _state(0))), 10)
    for asked, expected in ((1, None), (2, 2), (8, 2), (9, 9), (11, 10)):
      self.assertEqual(
        _value(store.load('a', _state(0), round_number=asked)), expected
      )
    self.assertTrue(store.has_state('a'))
    self.assertIsNone(store.load('b', _state(0)))
    self.assertFalse(store.has_state('b'))

  @hypothesis.given(
    st.lists(st.text(st.characters(), max_size=300), unique=True, max_size=8)
  )
  @hypothesis.example(['', '.', '..', 'a/b', 'a%2fb', 'A', 'a', '\ud800', '\0'])
  @hypothesis.example(['x' * 118, 'x' * 4000, 'x' * 4001, 'sha256-' + 'x' * 99])
  @hypothesis.settings(max_examples=25, deadline=None)
  def test_any_ids(self, client_ids):
    with tempfile.TemporaryDirectory() as folder:
      store = client_state_store.ClientStateStore(pathlib.Path(folder) / 'in')
      store.save(1, {c: _state(i) for i, c in enumerate(client_ids)})
      again = client_state_store.ClientStateStore(store.folder)
      for i, client_id in enumerate(client_ids):
        self.assertEqual(_value(again.load(client_id, _state(0))), i)
      self.assertEqual(os.listdir(folder), ['in'])
      names = [n for n in os.listdir(store.folder) if not n.endswith('.json')]
      # Also where the file system ignores case.
      self.assertLen({n.lower() for n in names}, len(client_ids))

  @parameterized.parameters(False, True)
  def test_commit_keeps_what_can_be_resumed_from(self, in_memory):
    store = self._store(in_memory)
    store.reset(0)
    visits = {'a': (1, 2, 4, 7), 'b': (3,), 'c': (2, 6)}
    for round_number in range(1, 8):
      store.save(
        round_number,
        {c: _state(round_number) for c in visits if round_number in visits[c]},
      )

    def found(client_id):
      return [
        r
        for r in range(1, 9)
        if _value(store.load(client_id, _state(0), round_number=r)) == r
      ]

    store.commit([3, 5])
    # After 5: 6 and 7 may be needed by checkpoints to come.
    self.assertEqual(found('a'), [2, 4, 7])
    self.assertEqual(found('c'), [2, 6])
    store.commit([5, 7])
    self.assertEqual(found('a'), [4, 7])
    self.assertEqual(found('b'), [3])
    store.commit([7])
    self.assertEqual([found(c) for c in 'abc'], [[7], [3], [6]])

  @hypothesis.given(st.data())
  @hypothesis.settings(max_examples=25, deadline=None)
  def test_every_kept_checkpoint_can_be_resumed_from(self, data):
    """A model: all states ever saved, of which nothing is removed."""
    with tempfile.TemporaryDirectory() as folder:
      store = client_state_store.ClientStateStore(folder)
      store.reset(0)
      model, kept, round_number = {}, [], 0
      for _ in range(data.draw(st.integers(1, 8))):
        action = data.draw(st.sampled_from(['round', 'checkpoint', 'kill']))
        if action == 'kill' and kept:
          round_number = data.draw(st.sampled_from(kept))
          kept = [k for k in kept if k <= round_number]
          model = {k: v for k, v in model.items() if k[1] <= round_number}
          store = client_state_store.ClientStateStore(folder)
          store.rewind(round_number)
        else:
          round_number += 1
          clients = data.draw(st.sets(st.sampled_from('abc')))
          value = data.draw(st.integers(0, 99))
          store.save(round_number, {c: _state(value) for c in clients})
          model.update({(c, round_number): value for c in clients})
          if action == 'checkpoint':
            kept = [*kept[-1:], round_number]
          store.commit({*kept, round_number})
        for client_id in 'abc':
          for k in (*kept, round_number):
            rounds = [r for c, r in model if c == client_id and r <= k]
            self.assertEqual(
              _value(store.load(client_id, _state(0), round_number=k)),
              model[client_id, max(rounds)] if rounds else None,
            )
        # No more than one for each kept checkpoint and the last round.
        for client in pathlib.Path(folder).glob('id-*'):
          self.assertLessEqual(len(list(client.iterdir())), len(kept) + 1)

  def test_rewind_removes_later_rounds_and_leftovers(self):
    store = self._store()
    store.reset(0)
    for round_number in (1, 2, 3):
      store.save(round_number, {'a': _state(round_number)})
    store.save(3, {'b': _state(3)})
    leftover = self.folder / 'id-a' / '4.npz.partial'
    leftover.write_bytes(b'half')
    other = self._store()
    other.rewind(2)
    self.assertFalse(leftover.exists())
    self.assertEqual(self._files(), ['id-a/1.npz', 'id-a/2.npz'])
    other.commit([2])
    self.assertEqual(self._files(), ['id-a/2.npz'])

  def test_states_that_were_lost_are_not_made_up(self):
    store = self._store()
    with self.assertRaisesRegex(
      errors.InputError, 'states ends with no round, .* of round 2: client .*'
    ):
      store.rewind(2)
    store.save(1, {'a': _state(1)})
    with self.assertRaisesRegex(errors.InputError, 'states ends with round 1'):
      self._store().rewind(2)
    self.assertEqual(self._files(), ['id-a/1.npz'])
    self._store(in_memory=True).rewind(0)
    with self.assertRaisesRegex(errors.InputError, 'in memory.*a folder'):
      self._store(in_memory=True).rewind(1)
    (self.folder / 'last_round.json').write_text('{')
    with self.assertRaisesRegex(
      errors.InputError, 'last_round.json is damaged'
    ):
      self._store().rewind(1)

  @parameterized.parameters(False, True)
  def test_reset_removes_every_state_and_nothing_else(self, in_memory):
    store = self._store(in_memory)
    store.save(3, {'a': _state(3)})
    if not in_memory:
      (self.folder / 'notes').mkdir()
    store.reset(2)
    self.assertIsNone(store.load('a', _state(0)))
    store.rewind(2)
    if not in_memory:
      self.assertTrue((self.folder / 'notes').is_dir())

  def test_reading_makes_no_folder(self):
    self.assertIsNone(self._store().load('a', _state(0)))
    self.assertFalse(self.folder.exists())

  def test_a_folder_that_cannot_be_made(self):
    self.folder.write_text('a file')
    with self.assertRaisesRegex(errors.InputError, 'Cannot write'):
      self._store().save(1, {'a': _state(5)})

  def test_an_old_file_is_whole_until_the_new_one_is(self):
    self._store().save(1, {'a': _state(1)})
    before = self._files()
    # As a folder in its place, onto which no file can be renamed.
    (self.folder / 'id-a' / '2.npz').mkdir()
    with self.assertRaisesRegex(errors.InputError, 'Cannot write'):
      self._store().save(2, {'a': _state(2)})
    (self.folder / 'id-a' / '2.npz').rmdir()
    self.assertEqual(self._files(), before)
    self.assertEqual(_value(self._store().load('a', _state(0))), 1)


if __name__ == '__main__':
  absltest.main()

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounds of a process with client states, alone and in the training loop."""

import contextlib
import io
import sqlite3

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff.datasets import batches
from fedfish_tff.simulation import client_state_store
from fedfish_tff.simulation import training_loop
from tests import row_callback
from tests import training_runs

from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff


class ClientStatesRunTest(training_runs.TestCase):
  SIZES = {'a': 3, 'b': 5, 'c': 8, 'd': 4, 'e/f': 6}
  SPEC = batches.BatchSpec(batch_size=2, epochs=1)

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.process = algorithms.build_stateful_partial_exchange(
      training_runs.create_model(),
      tff.learning.optimizers.build_sgdm(0.1),
      selector=client_work.build_share_selector(0.5),
    )

  def _store(self, folder=None):
    return client_state_store.ClientStateStore(
      (folder or self.folder) / 'client_states.sqlite'
    )

  def _run(self, folder=None, **kwargs):
    (folder or self.folder).mkdir(exist_ok=True)
    kwargs = {'client_states': self._store(folder), **kwargs}
    return self.run_training(self.process, folder, **kwargs)

  def _by_hand(self, cohorts=None):
    """(state, client states) of calls with a dictionary of client states."""
    if cohorts is None:
      cohorts = map(self.cohorts, range(1, training_runs.ROUNDS + 1))
    return self.call_by_hand(self.process, cohorts)[:2]

  def _assert_states(self, store, expected):
    new_client = self.process.initialize_client(self.process.initialize())
    for client_id in self.SIZES:
      found = store.load(client_id, new_client)
      if client_id not in expected:
        self.assertIsNone(found)
      else:
        self.assert_same_bits(found, expected[client_id])

  @parameterized.parameters(True, False)
  def test_equals_the_process_called_by_hand(self, has_folder):
    store = (
      self._store() if has_folder else client_state_store.ClientStateStore()
    )
    result = self._run(client_states=store)
    state, clients = self._by_hand()
    self.assert_same_bits(result.state, state)
    self._assert_states(store, clients)

  def test_a_killed_run_resumes_as_if_it_never_stopped(self):
    whole = self._run(self.folder / 'whole')
    rows = self.rows(self.folder / 'whole')
    _, clients = self._by_hand()
    for killed_at in (2, 3, training_runs.ROUNDS):
      folder = self.folder / f'killed{killed_at}'
      with self.assertRaises(training_runs.Stop):
        self._run(folder, hooks=[training_runs.stop_at(killed_at)])
      resumed = self._run(folder)
      self.assert_same_bits(resumed.state, whole.state)
      self.assertEqual(self.rows(folder), rows)
      self._assert_states(self._store(folder), clients)

  def test_a_damaged_checkpoint_costs_no_states(self):
    """The states of the one before it are there too."""
    whole = self._run(self.folder / 'whole')
    self._run(rounds=4)
    (self.folder / 'checkpoints' / 'program_state_4.npz').write_bytes(b'')
    seen = []
    with self.assertLogs(level='WARNING'):
      resumed = self._run(
        hooks=[row_callback.RowCallback(lambda r, _: seen.append(r))]
      )
    self.assertEqual(seen, [3, 4, 5, 6])
    self.assert_same_bits(resumed.state, whole.state)

  def test_ctrl_c_within_a_round_keeps_the_last_whole_one(self):
    whole = self._run(self.folder / 'whole')

    def interrupt(state, round_number):
      # The states after round 4 are saved by now.
      if round_number == 4:
        raise KeyboardInterrupt()
      return {}

    with self.assertRaisesRegex(KeyboardInterrupt, 'that of round 3'):
      self._run(evaluation_fn=interrupt, checkpoint_every=100)
    resumed = self._run()
    self.assert_same_bits(resumed.state, whole.state)

  def test_no_more_states_than_checkpoints_need(self):
    self._run()
    with sqlite3.connect(self.folder / 'client_states.sqlite') as connection:
      found = connection.execute('SELECT client, round FROM visits').fetchall()
    needed = {
      (client_id.encode(), max(visits))
      for client_id in self.SIZES
      # The checkpoints that there were before the last, and the last.
      for k in (2, 4, 6)
      if (
        visits := [r for r in range(1, k + 1) if client_id in self.cohorts(r)]
      )
    }
    self.assertCountEqual(found, needed)

  def test_lost_states_are_not_synthetic(self):
    self._run(rounds=4)
    came_last = (
      f'of client {self.cohorts(4)[0]!r} to resume after round 4, got none'
    )
    with self.assertRaisesRegex(
      errors.InputError, f'^memory must have the state of round 4 {came_last}'
    ):
      self._run(client_states=client_state_store.ClientStateStore())
    # Of one that came before, and did not come again.
    client_id, visit = next(
      (c, r)
      for r in (1, 2, 3)
      for c in self.cohorts(r)
      if not any(c in self.cohorts(k) for k in range(r + 1, 5))
    )
    with sqlite3.connect(self.folder / 'client_states.sqlite') as connection:
      connection.execute(
        'DELETE FROM visits WHERE client = ?', (client_id.encode(),)
      )
    with self.assertRaisesRegex(
      errors.InputError, f'of round {visit} of client {client_id!r} to resume'
    ):
      self._run()

  def test_a_new_run_has_no_old_states(self):
    store = client_state_store.ClientStateStore()
    once = self._run(self.folder / 'once', client_states=store)
    again = self._run(self.folder / 'again', client_states=store)
    self.assert_same_bits(once.state, again.state)

  def test_an_evaluation_has_the_states_after_its_round(self):
    store, seen = self._store(), []

    def evaluate(state, round_number):
      new_client = self.process.initialize_client(state)
      for client_id in self.cohorts(round_number) if round_number else ():
        found = store.load(client_id, new_client)
        seen.append((round_number, int(found['last_round'])))
      return {}

    self._run(client_states=store, evaluation_fn=evaluate, rounds=3)
    self.assertEqual(seen, [(1, 1), (1, 1), (2, 2), (2, 2), (3, 3), (3, 3)])

  def test_a_round_of_excluded_clients_only_has_no_average(self):
    with contextlib.redirect_stderr(io.StringIO()):
      self._run(
        train_data=self.train_data(bad_clients='c'),
        participation=lambda r: ('ab', 'c', 'ac')[r - 1],
        rounds=3,
      )
    _, *rows = self.rows()
    averages = [
      name
      for name in rows[0]
      if name == 'train/loss' or name.startswith('aggregator/sent/')
    ]
    self.assertLen(averages, 5)
    for name in averages:
      self.assertEqual(
        [np.isnan(row[name]) for row in rows], [False, True, False], name
      )
    self.assertEqual(rows[1]['communication/payload_bytes'], 0)

  def test_names_excluded_clients_by_their_own_models(self):
    """A client is asked with its weights, not with the server's."""
    asked = []
    process = self.process

    class Asked(algorithms.ClientStateProcess):
      def __init__(self):
        self.__dict__.update(process.__dict__)
        del self.__dict__['update_is_finite']

      def update_is_finite(self, weights, data):
        asked.append(weights)
        return process.update_is_finite(weights, data)

    cohorts = ('ab', 'ac')
    store = client_state_store.ClientStateStore()
    with contextlib.redirect_stderr(io.StringIO()) as stream:
      training_loop.run_training(
        Asked(),
        train_data=self.train_data(bad_clients='c'),
        participation=lambda r: tuple(cohorts[r - 1]),
        batch_spec=self.SPEC,
        seed=training_runs.SEED,
        rounds=2,
        client_states=store,
      )
    self.assertRegex(
      stream.getvalue(), r'Round 2: .* of 1 of 2 clients .* out: c; '
    )
    state, clients = self._by_hand(['ab'])
    self.assert_same_bits(
      asked[0], process.client_model_weights(state, clients['a'])
    )
    self.assert_same_bits(asked[1], process.get_model_weights(state))

  def test_needs_a_store(self):
    with self.assertRaisesRegex(errors.InputError, 'client_states .*None'):
      self._run(client_states=None)

  def test_a_client_that_comes_twice_in_a_round(self):
    with self.assertRaisesRegex(errors.InputError, "cohort .*'a' .*round 1"):
      self._run(participation=lambda r: ('a', 'b', 'a'))

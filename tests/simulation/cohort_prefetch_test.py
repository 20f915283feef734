# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Cohorts come ahead of time, their errors in time, and no thread is left."""

from concurrent import futures
import os
import signal
import threading
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets import batches
from fedfish_tff.datasets import client_data
from fedfish_tff.simulation import cohort_prefetch
from fedfish_tff.simulation import participation
from tests import processes

from absl.testing import absltest
import numpy as np

_SIZES = {'a': 3, 'b': 5, 'c': 8, 'd': 4}
_SPEC = batches.BatchSpec(batch_size=2, epochs=2, max_examples=6)
_SEED = 3


class _WatchedData(client_data.InMemoryClientData):
  """Client data that notes what is read, and holds up one of the reads."""

  def __init__(self, held_read=None):
    super().__init__(
      {
        client_id: (np.arange(2 * size).reshape(size, 2), np.arange(size))
        for client_id, size in _SIZES.items()
      }
    )
    self.reads = []
    self.is_held = threading.Event()
    self.may_go_on = threading.Event()
    self._held_read = held_read

  def load_client(self, client_id):
    self.reads.append((client_id, threading.current_thread()))
    if len(self.reads) == self._held_read:
      self.is_held.set()
      assert self.may_go_on.wait(processes.HANG_SECONDS)
    return super().load_client(client_id)


def _threads():
  return [t for t in threading.enumerate() if t.name.startswith('cohort_')]


class CohortPrefetcherTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.data = _WatchedData()

  def _prefetcher(self, cohorts, last_round=4):
    return cohort_prefetch.CohortPrefetcher(
      self.data, cohorts, _SPEC, seed=_SEED, last_round=last_round
    )

  def test_gives_the_batches_of_every_round(self):
    cohorts = participation.uniform_participation(
      _SIZES, cohort_size=2, seed=_SEED
    )
    with self._prefetcher(cohorts) as prefetcher:
      # A resumed run starts anywhere, and rounds may be left out or repeated.
      for round_number in (2, 3, 4, 1, 3, 3):
        cohort = prefetcher.load(round_number)
        self.assertEqual(
          tuple(client.client_id for client in cohort), cohorts(round_number)
        )
        for client in cohort:
          expected = batches.plan_batches(
            self.data.load_client(client.client_id),
            _SPEC,
            client_id=client.client_id,
            seed=_SEED,
            round_number=round_number,
          )
          np.testing.assert_array_equal(client.indices, expected.indices)
          self.assertIs(client.examples, expected.examples)
    self.assertEmpty(_threads())

  def test_loads_the_next_round_and_none_after_the_last(self):
    self.data = _WatchedData(held_read=3)
    asked = []

    def cohorts(round_number):
      asked.append(round_number)
      return ('a', 'b')

    with self._prefetcher(cohorts, last_round=2) as prefetcher:
      prefetcher.load(1)
      self.assertTrue(self.data.is_held.wait(processes.HANG_SECONDS))
      self.data.may_go_on.set()
      prefetcher.load(2)
    self.assertEqual(asked, [1, 2])
    self.assertEqual([c for c, _ in self.data.reads], ['a', 'b', 'a', 'b'])
    for _, thread in self.data.reads:
      self.assertIsNot(thread, threading.current_thread())

  def test_errors_come_in_their_round(self):
    def cohorts(round_number):
      return ('nobody',) if round_number == 3 else ('a',)

    with self._prefetcher(cohorts) as prefetcher:
      prefetcher.load(1)
      prefetcher.load(2)
      with self.assertRaisesRegex(errors.InputError, 'client .*nobody'):
        prefetcher.load(3)
      self.assertLen(prefetcher.load(4), 1)
    with self._prefetcher(cohorts, last_round=2) as prefetcher:
      prefetcher.load(2)
    self.assertEmpty(_threads())

  def test_a_cohort_has_an_order(self):
    with self._prefetcher(lambda _: {'a', 'b'}) as prefetcher:
      with self.assertRaisesRegex(errors.InputError, 'round 2 must be a seq'):
        prefetcher.load(2)

  def test_stops_after_the_client_that_is_being_read(self):
    self.data = _WatchedData(held_read=4)
    with self.assertRaises(KeyboardInterrupt):
      with self._prefetcher(lambda _: ('a', 'b', 'c')) as prefetcher:
        prefetcher.load(1)
        self.assertTrue(self.data.is_held.wait(processes.HANG_SECONDS))
        self.enter_context(self._released_on_exit())
        raise KeyboardInterrupt()
    self.assertEqual([c for c, _ in self.data.reads], ['a', 'b', 'c', 'a'])
    self.assertEmpty(_threads())

  def test_ctrl_c_while_waiting_for_a_cohort(self):
    # Shells have background jobs ignore it.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    self.addCleanup(signal.signal, signal.SIGINT, handler)
    self.data = _WatchedData(held_read=3)

    def press():
      self.data.is_held.wait(processes.HANG_SECONDS)
      os.kill(os.getpid(), signal.SIGINT)

    finger = threading.Thread(target=press)
    with (
      self._released_on_exit(),
      self._prefetcher(lambda _: ('a', 'b')) as prefetcher,
    ):
      prefetcher.load(1)
      with self.assertRaises(KeyboardInterrupt):
        finger.start()
        prefetcher.load(2)
    finger.join(processes.HANG_SECONDS)
    self.assertEqual([c for c, _ in self.data.reads], ['a', 'b', 'a'])
    self.assertEmpty(_threads())

  def _released_on_exit(self):
    """Lets the held read go on once leaving the prefetcher has begun."""
    shutdown = futures.ThreadPoolExecutor.shutdown

    def release_and_shut_down(executor, **options):
      self.data.may_go_on.set()
      shutdown(executor, **options)

    return mock.patch.object(
      futures.ThreadPoolExecutor, 'shutdown', release_and_shut_down
    )

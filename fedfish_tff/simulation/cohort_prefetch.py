# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prefetching of the next round's cohort while a round computes."""

from collections.abc import Sequence
from collections.abc import Set
from concurrent import futures
import threading

from fedfish_tff import errors
from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.datasets import client_data
from fedfish_tff.simulation import participation as participation_lib

Cohort = Sequence[batches_lib.ClientBatches]

# The interval in which a waiting caller checks for signals. Python handles a
# signal that arrives just before a wait only after that wait.
_SIGNAL_SECONDS = 0.2


class CohortPrefetcher:
  """Returns the cohort of each round, loaded ahead of time.

  Participation and batches are functions of the round, so a cohort does not
  depend on when it is loaded. Used as a context manager, it leaves no thread
  behind: on exit, loading stops after the client that is being read.
  """

  def __init__(
    self,
    train_data: client_data.ClientData,
    participation: participation_lib.Participation,
    batch_spec: batches_lib.BatchSpec,
    *,
    seed: int,
    last_round: int,
  ) -> None:
    """Loads nothing yet.

    Args:
      train_data: The clients that may take part; read from another thread.
      participation: The function that returns the cohort of a round; called
        from another thread. If it has `known_ahead = False`, a cohort is only
        loaded when its round begins.
      batch_spec: The batches of a client in a round.
      seed: The seed that, with the round, decides each client's batches.
      last_round: The last round to load.
    """
    self._train_data = train_data
    self._participation = participation
    self._batch_spec = batch_spec
    self._seed = seed
    self._last_round = last_round
    # The context is this thread's.
    self._refers = batches_lib.takes_references()
    self._stopped = threading.Event()
    self._executor = futures.ThreadPoolExecutor(
      max_workers=1, thread_name_prefix='cohort_prefetch'
    )
    self._next: tuple[int, futures.Future[Cohort]] | None = None

  def __enter__(self) -> 'CohortPrefetcher':
    return self

  def __exit__(self, *unused_exc_info: object) -> None:
    self._stopped.set()
    self._executor.shutdown(cancel_futures=True)

  def load(self, round_number: int) -> Cohort:
    """Returns a round's cohort, and starts to load the next round's.

    An error in the next round's cohort is raised when that round is loaded.

    Returns:
      The clients' batches, in the order of the cohort.
    """
    if self._next is not None and self._next[0] == round_number:
      _, future = self._next
    else:
      future = self._executor.submit(self._load, round_number)
    self._next = None
    while not future.done():
      futures.wait([future], timeout=_SIGNAL_SECONDS)
    cohort = future.result()
    known_ahead = getattr(self._participation, 'known_ahead', True)
    if known_ahead and round_number < self._last_round:
      following = round_number + 1
      self._next = (following, self._executor.submit(self._load, following))
    return cohort

  def _load(self, round_number: int) -> Cohort:
    cohort = []
    client_ids = self._participation(round_number)
    if isinstance(client_ids, Set):
      raise errors.unexpected(
        f'The cohort of round {round_number}',
        client_ids,
        "a sequence of clients' ids, since their order decides the rounding",
      )
    for client_id in client_ids:
      if self._stopped.is_set():
        raise futures.CancelledError()
      cohort.append(
        batches_lib.plan_client(
          self._train_data,
          self._batch_spec,
          client_id=client_id,
          seed=self._seed,
          round_number=round_number,
          refers=self._refers,
        )
      )
    return cohort

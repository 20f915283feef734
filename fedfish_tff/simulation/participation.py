# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Participation: functions from a round's number to the ids of its clients.

A cohort is a pure function of (seed, round): algorithms with one seed see the
same clients, and a resumed run needs no saved sampler. This includes the
cohort's order, since sums of floats depend on it.

Rounds are numbered from 1. `client_ids` are those of all training clients, in
any order; `SortedIds` are used directly, others are copied. `seed` is the
run's.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import functools

from fedfish_tff import errors
from fedfish_tff.datasets import random_streams
from fedfish_tff.datasets import sorted_ids

import numpy as np

# A draw permutes up to so many clients, in 0.3 ms. With more clients, its time
# depends on the cohort's size alone.
_MOST_PERMUTED = 10_000

Participation = Callable[[int], tuple[str, ...]]


def uniform_participation(
  client_ids: Iterable[str], *, cohort_size: int, seed: int
) -> Participation:
  """Returns cohorts drawn uniformly without replacement, anew every round.

  A cohort has `cohort_size` distinct clients, at most all.
  """
  client_ids = _sort(client_ids)
  _check_size(cohort_size, client_ids)

  def draw(generator: np.random.Generator) -> list[int]:
    return _draw(generator, len(client_ids), cohort_size)

  return _draw_each_round(client_ids, draw, 'cohort', seed)


def proportional_participation(
  sizes: Mapping[str, int], *, cohort_size: int, seed: int
) -> Participation:
  """Returns cohorts drawn without replacement, in proportion to data sizes.

  Each draw takes one of the remaining clients with a probability in proportion
  to its size, as do the candidates of Cho et al. (arXiv:2010.01243, section 4).
  `sizes` has each client's number of examples, which is positive.
  """
  client_ids = _sort(sizes)
  _check_size(cohort_size, client_ids)
  for client_id in client_ids:
    errors.check_range(
      f'The size of client {client_id!r}', sizes[client_id], above=0
    )
  shares = np.array([sizes[c] for c in client_ids], np.float64)
  shares /= shares.sum()

  def draw(generator: np.random.Generator) -> list[int]:
    return generator.choice(
      len(client_ids), cohort_size, replace=False, p=shares
    ).tolist()

  return _draw_each_round(client_ids, draw, 'proportional', seed)


def poisson_participation(
  client_ids: Iterable[str], *, cohort_size: int, seed: int
) -> Participation:
  """Returns cohorts that each client joins at random, independently of others.

  This is Poisson sampling, which benefits differential privacy most (McMahan et
  al., arXiv:1710.06963, Algorithm 1): in every round, each client takes part
  with the probability `cohort_size` / clients, so that `cohort_size` is the
  expected number of clients. A cohort may be empty.
  """
  client_ids = _sort(client_ids)
  _check_size(cohort_size, client_ids)
  probability = cohort_size / len(client_ids)

  def draw(generator: np.random.Generator) -> list[int]:
    # Given its size, all cohorts are equally likely.
    size = int(generator.binomial(len(client_ids), probability))
    return _draw(generator, len(client_ids), size)

  return _draw_each_round(client_ids, draw, 'poisson', seed)


def _draw_each_round(
  client_ids: Sequence[str],
  draw: Callable[[np.random.Generator], list[int]],
  *keys: int | str,
) -> Participation:
  """Returns cohorts of drawn numbers, each by a generator of keys and round."""

  def cohort(round_number: int) -> tuple[str, ...]:
    generator = random_streams.random_generator(*keys, round_number)
    return tuple(client_ids[index] for index in draw(generator))

  return cohort


def visit_once_participation(
  client_ids: Iterable[str], *, cohort_size: int, seed: int
) -> Participation:
  """Returns cohorts that together hold every client once, then empty ones.

  Closed-form methods, such as Fed3R, must see each client exactly once. The
  seed decides the order of the clients. The sizes of the
  `count_visiting_rounds(...)` cohorts, `cohort_size` or less, differ by one at
  most: a secure sum over a last cohort of one client would reveal that client's
  values. `cohort_size` may exceed the number of clients.
  """
  return _visit(_sort(client_ids), cohort_size, 'visits', seed)


def epochs_participation(
  client_ids: Iterable[str], *, cohort_size: int, seed: int
) -> Participation:
  """Returns cohorts that hold every client once per epoch, without an end.

  An epoch is like `visit_once_participation`; its order is a function of the
  seed and the epoch.
  """
  client_ids = _sort(client_ids)
  _check_size(cohort_size, client_ids)
  rounds = count_visiting_rounds(len(client_ids), cohort_size=cohort_size)

  # Two epochs, since the next round's clients may be loaded meanwhile.
  @functools.lru_cache(maxsize=2)
  def visit(epoch: int) -> Participation:
    return _visit(client_ids, cohort_size, 'epoch', seed, epoch)

  def cohort(round_number: int) -> tuple[str, ...]:
    epoch, past = divmod(_check_round(round_number) - 1, rounds)
    return visit(epoch)(past + 1)

  return cohort


def _visit(
  client_ids: Sequence[str], cohort_size: int, *keys: int | str
) -> Participation:
  """Returns cohorts that hold every client once, in an order by the keys."""
  rounds = count_visiting_rounds(len(client_ids), cohort_size=cohort_size)
  generator = random_streams.random_generator(*keys)
  order = generator.permutation(len(client_ids))

  def count_before(round_number: int) -> int:
    """Returns the number of earlier clients; the first cohorts are larger."""
    size, num_larger = divmod(len(client_ids), rounds)
    return (round_number - 1) * size + min(round_number - 1, num_larger)

  def cohort(round_number: int) -> tuple[str, ...]:
    if _check_round(round_number) > rounds:
      return ()
    chosen = order[count_before(round_number) : count_before(round_number + 1)]
    return tuple(client_ids[index] for index in chosen.tolist())

  return cohort


def count_visiting_rounds(num_clients: int, *, cohort_size: int) -> int:
  """Returns the number of rounds that `visit_once_participation` takes."""
  errors.check_positive_integer('cohort_size', cohort_size)
  return -(-num_clients // cohort_size)


def _sort(client_ids: Iterable[str]) -> Sequence[str]:
  if isinstance(client_ids, sorted_ids.SortedIds):
    return client_ids
  return tuple(sorted(set(client_ids)))


def _check_size(cohort_size: int, client_ids: Sequence[str]) -> None:
  errors.check_positive_integer('cohort_size', cohort_size)
  if cohort_size > len(client_ids):
    raise errors.InputError(
      f'cohort_size is {cohort_size}, but there are only {len(client_ids)} '
      'training clients and a round takes each at most once; set cohort_size '
      f'to at most {len(client_ids)}, or partition the data into more '
      'clients.'
    )


def _check_round(round_number: int) -> int:
  """Returns a round number after checking that it is 1 or more."""
  errors.check_positive_integer('The round of a cohort', round_number)
  return round_number


def _draw(generator: np.random.Generator, total: int, size: int) -> list[int]:
  """Returns `size` of the numbers below `total`, in a random order."""
  if total <= _MOST_PERMUTED:
    return generator.permutation(total)[:size].tolist()
  # The first steps of a Fisher-Yates shuffle, with only the moved numbers in
  # memory.
  places = generator.integers(np.arange(size), total).tolist()
  moved = {}
  chosen = []
  for step, place in enumerate(places):
    chosen.append(moved.get(place, place))
    moved[place] = moved.get(step, step)
  return chosen

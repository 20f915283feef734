# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Who takes part in a round: functions from the round number to client ids."""

from collections.abc import Callable
from collections.abc import Iterable

from fedfish_tff import errors
from fedfish_tff.datasets import random_streams
from fedfish_tff.datasets import sorted_ids

import numpy as np

# From here on a round is drawn in a time that only the cohort's size decides.
# Fewer clients are permuted, as runs of earlier releases did.
_MOST_PERMUTED = 10_000

Participation = Callable[[int], tuple[str, ...]]


def uniform_participation(
  client_ids: Iterable[str], *, cohort_size: int, seed: int
) -> Participation:
  """Returns cohorts drawn uniformly without replacement, anew every round.

  A cohort is a pure function of (seed, round): algorithms with one seed see
  the same clients, and a resumed run needs no saved sampler. Its order is part
  of it, since sums of floats depend on their order.

  Args:
    client_ids: The ids of all training clients; their order does not matter.
      `SortedIds` are used as they are, others are copied.
    cohort_size: Clients a round.
    seed: The run's seed.

  Returns:
    A function from the round number to `cohort_size` distinct client ids.

  Raises:
    errors.InputError: If `cohort_size` is not positive or larger than the
      number of clients.
  """
  if not isinstance(client_ids, sorted_ids.SortedIds):
    client_ids = tuple(sorted(set(client_ids)))
  if cohort_size < 1:
    raise errors.InputError(
      f'cohort_size is {cohort_size}; a positive integer was expected.'
    )
  if cohort_size > len(client_ids):
    raise errors.InputError(
      f'cohort_size is {cohort_size}, but there are only {len(client_ids)} '
      'training clients and a round takes each at most once; set cohort_size '
      f'to at most {len(client_ids)}, or partition the data into more '
      'clients.'
    )

  def cohort(round_number: int) -> tuple[str, ...]:
    generator = random_streams.random_generator('cohort', seed, round_number)
    chosen = _draw(generator, len(client_ids), cohort_size)
    return tuple(client_ids[index] for index in chosen)

  return cohort


def _draw(generator: np.random.Generator, total: int, size: int) -> list[int]:
  """Returns `size` of the numbers below `total`, in a random order."""
  if total <= _MOST_PERMUTED:
    return generator.permutation(total)[:size].tolist()
  # The first steps of Fisher and Yates' shuffle, with only the moved numbers in
  # memory.
  places = generator.integers(np.arange(size), total).tolist()
  moved = {}
  chosen = []
  for step, place in enumerate(places):
    chosen.append(moved.get(place, place))
    moved[place] = moved.get(step, step)
  return chosen

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Participation of clients that are slow or do not answer.

The server asks clients, some answer, and it takes them in the order of their
answers. All participations are pure functions of the round, like those of
`participation`, and combine with any process.
"""

from collections.abc import Callable
from collections.abc import Iterable
import functools

from fedfish_tff import errors
from fedfish_tff.datasets import random_streams
from fedfish_tff.simulation import client_speeds
from fedfish_tff.simulation import participation as participation_lib
from fedfish_tff.simulation import participation_stages

import numpy as np


def drop_out(
  asked: participation_lib.Participation, probability: float, *, seed: int
) -> participation_lib.Participation:
  """Returns the clients that answer; each fails with the same probability.

  Whether a client answers is a function of (seed, round, client) alone. The
  server notices a failure at once and does not wait for the client.

  Args:
    asked: The function that returns the clients that are asked in a round.
    probability: The probability that a client does not answer, in [0, 1).
    seed: The run's seed.
  """
  errors.check_range(
    'The probability to drop out', probability, least=0, below=1
  )

  def cohort(round_number: int) -> tuple[str, ...]:
    client_ids = asked(round_number)
    drawn = random_streams.uniform_numbers(
      client_ids, 'dropout', seed, round_number
    )
    answers = drawn >= probability
    return tuple(c for c, answer in zip(client_ids, answers) if answer)

  return cohort


def fastest_participation(
  asked: participation_lib.Participation,
  *,
  size: int | Callable[[int], int],
  speeds: client_speeds.Speeds,
) -> participation_lib.Participation:
  """Returns the clients that answer first, in the order of their answers.

  This is over-selection: the server asks more clients than it needs and does
  not wait for the late ones (Bonawitz et al., arXiv:1902.01046). If there are
  fewer answers than needed, it takes them all. Equally fast clients keep their
  order.

  Args:
    asked: The function that returns the clients that are asked in a round and
      answer.
    size: The number of clients to take, positive, or a function of the round to
      it.
    speeds: The clients' seconds in each round, by which answers are ordered.
  """
  if not callable(size):
    errors.check_positive_integer('size', size)

  def cohort(round_number: int) -> tuple[str, ...]:
    client_ids = asked(round_number)
    count = size(round_number) if callable(size) else size
    order = np.argsort(speeds(round_number, client_ids), kind='stable')
    return tuple(client_ids[i] for i in order[:count].tolist())

  return cohort


def flanp_participation(
  client_ids: Iterable[str],
  *,
  stages: participation_stages.Stages | participation_stages.AccuracyStages,
  speeds: client_speeds.Speeds,
  seed: int,
  cohort_size: int | None = None,
) -> participation_lib.Participation:
  """Returns the fastest clients, more of them in each stage (FLANP).

  Reisizadeh et al., arXiv:2012.14453. The clients of a stage are in all later
  ones, so speeds should be known and constant.

  Args:
    client_ids: The ids of all training clients, in any order.
    stages: The number of clients in the pool of a round, at most all.
    speeds: The clients' seconds; those of round 1 count.
    seed: The run's seed, used with `cohort_size`.
    cohort_size: The maximum number of clients per round. From a larger pool, as
      many are drawn anew every round, as in SRPFL's published code with
      partial participation. None for the whole pool.
  """
  if cohort_size is not None:
    errors.check_positive_integer('cohort_size', cohort_size)
  client_ids = tuple(sorted(client_ids))
  fastest = fastest_participation(
    lambda _: client_ids, size=stages.sizes[-1], speeds=speeds
  )(1)
  if stages.sizes[-1] > len(fastest):
    raise errors.InputError(
      f'A stage must have at most the {len(fastest)} training clients, got '
      f'{stages.sizes[-1]}.'
    )

  # Only the current stage is cached, since a pool may hold all ids.
  @functools.lru_cache(maxsize=1)
  def draw(size: int) -> participation_lib.Participation:
    return participation_lib.uniform_participation(
      fastest[:size], cohort_size=cohort_size, seed=seed
    )

  def cohort(round_number: int) -> tuple[str, ...]:
    size = stages.size(round_number)
    if cohort_size is not None and size > cohort_size:
      return draw(size)(round_number)
    return fastest[:size]

  return cohort


def srpfl_participation(
  client_ids: Iterable[str],
  *,
  stages: participation_stages.Stages,
  speeds: client_speeds.Speeds,
  seed: int,
  sampled: int,
  resample: str = 'round',
  dropout: float = 0.0,
) -> participation_lib.Participation:
  """Returns the fastest sampled clients, more of them in each stage (SRPFL).

  Algorithm 1 of Tziotis et al., "Straggler-Resilient Personalized Federated
  Learning" (TMLR 2023, arXiv:2206.02078). The server asks all sampled clients
  and takes the first answers, so speeds may be unknown and may change (remark
  3.2).

  Args:
    client_ids: The ids of all training clients, in any order. `SortedIds` are
      used directly.
    stages: The number of answers to take in a round; in the last stage,
      `sampled`.
    speeds: The clients' seconds in each round, by which answers are ordered.
    seed: The run's seed.
    sampled: M, the number of clients to ask, drawn by `uniform_participation`.
    resample: Whether to draw them anew each `'round'` or each `'stage'`; the
      paper has both. With `'stage'`, the last stage, which has no end, keeps
      its clients.
    dropout: The probability that a client does not answer, as in `drop_out`.
  """
  errors.check_member('resample', resample, ('round', 'stage'))
  sample = participation_lib.uniform_participation(
    client_ids, cohort_size=sampled, seed=seed
  )

  def asked(round_number: int) -> tuple[str, ...]:
    if resample == 'stage':
      return sample(stages.first_round(round_number))
    return sample(round_number)

  return fastest_participation(
    drop_out(asked, dropout, seed=seed), size=stages.size, speeds=speeds
  )

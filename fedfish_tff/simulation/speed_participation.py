# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Who takes part in a round where clients are slow, or do not answer.

Participations of clients who are asked, answer or do not, and are taken in the
order of their answers. All are pure functions of the round, like those of
`participation`, and go around any process.
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
  """Returns those who answer: each client fails to with the same probability.

  Whether a client answers is a function of (seed, round, client), whoever else
  is asked. The server notices at once; it does not wait for those who fail.

  Args:
    asked: Who is asked in a round.
    probability: That a client does not answer: 0 or more, less than 1.
    seed: The run's seed.

  Raises:
    errors.InputError: If the probability is out of range.
  """
  if not 0 <= probability < 1:
    raise errors.InputError(
      f'The probability to drop out is {probability}; a number that is 0 or '
      'more and less than 1 was expected.'
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
  """Returns the first of those who are asked, in the order of their answers.

  Over-selection is this: more are asked than are needed, and the late ones are
  not waited for (Bonawitz et al., arXiv:1902.01046). Where fewer
  answer, all do; equally fast ones stay in the order in which they are asked.

  Args:
    asked: Who is asked in a round, and answers.
    size: How many are taken, or that by the round.
    speeds: The clients' seconds.
  """

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
  """Returns the fastest clients, more of them in each stage: FLANP.

  Reisizadeh et al., arXiv:2012.14453. Who comes in a stage comes in all that
  follow, so speeds are expected to be known and not to change.

  Args:
    client_ids: The ids of all training clients; their order does not matter.
    stages: How many are in the pool of a round; in the last stage, all.
    speeds: The clients' seconds; those of round 1 count.
    seed: The run's seed, for `cohort_size`.
    cohort_size: Most clients a round. Of a larger pool as many are drawn, anew
      every round, as SRPFL's published code does with partial participation.
      None for all of the pool.

  Raises:
    errors.InputError: If a stage is larger than the number of clients.
  """
  client_ids = tuple(sorted(client_ids))
  fastest = fastest_participation(
    lambda _: client_ids, size=stages.sizes[-1], speeds=speeds
  )(1)
  if stages.sizes[-1] > len(fastest):
    raise errors.InputError(
      f'A stage has {stages.sizes[-1]} clients, but there are only '
      f'{len(fastest)} training clients; at most as many were expected.'
    )

  # Of the stage at hand alone: a pool is as large as all ids.
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
  """Returns the fastest of clients that are sampled, more in each stage: SRPFL.

  Algorithm 1 of Tziotis et al., "Straggler-Resilient Personalized Federated
  Learning" (TMLR 2023, arXiv:2206.02078). All who are sampled are asked and the
  first answers count, so speeds need not be known, and may change (remark 3.2).

  Args:
    client_ids: The ids of all training clients; their order does not matter.
      `SortedIds` are used as they are.
    stages: How many answers count in a round; in the last stage, `sampled`.
    speeds: The clients' seconds.
    seed: The run's seed.
    sampled: M, the clients that are asked; drawn as `uniform_participation`
      draws a cohort of that size.
    resample: Whether they are drawn anew each `'round'` or each `'stage'`, as
      the paper has both. With the latter the last stage, which has no end,
      keeps its clients.
    dropout: The probability that a client does not answer, see `drop_out`.

  Raises:
    errors.InputError: If there are fewer clients than `sampled`, or an argument
      is out of range.
  """
  if resample not in ('round', 'stage'):
    raise errors.InputError(
      f"resample is {resample!r}; 'round' or 'stage' was expected."
    )
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

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""How long clients take, and how long a round therefore lasts.

A client's seconds are a function of (seed, round, client): algorithms with one
seed see the same stragglers, and who else is there changes nothing. Only those
who are asked for are computed, so that a round of a few among millions costs
what the few cost.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import math
import os
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff.datasets import random_streams

import numpy as np

# From (round, client ids) to float64 [num_clients], the seconds of each
# client's work in that round.
Speeds = Callable[[int, Sequence[str]], np.ndarray]
# From (round, ids of its cohort) to the seconds that the round lasts.
WallClock = Callable[[int, Sequence[str]], float]

_TRACE_COLUMNS = ['client_id', 'seconds']


class DeviceClass(NamedTuple):
  """Clients of one kind.

  Attributes:
    share: How many they are, relative to the shares of the other classes.
    seconds: Their mean seconds a round.
  """

  share: float
  seconds: float


def fixed_exponential_speeds(*, seed: int, scale: float = 1.0) -> Speeds:
  """Returns seconds that are drawn once for each client: scale * Exp(1).

  The fixed computation speeds of SRPFL's experiments (section 5).

  Args:
    seed: The run's seed.
    scale: The mean seconds.
  """

  def speeds(round_number: int, client_ids: Sequence[str]) -> np.ndarray:
    del round_number
    return scale * _exponential(client_ids, 'seconds', seed)

  return speeds


def dynamic_exponential_speeds(
  *, seed: int, scales: tuple[float, float] = (1.0, 100.0)
) -> Speeds:
  """Returns seconds that are drawn anew every round: scale_i * Exp(1).

  The dynamic computation speeds of SRPFL's experiments (section 5); U[1, 100]
  is that of its published code, which draws scale_i once.

  Args:
    seed: The run's seed.
    scales: Between which each client's own mean is drawn, uniformly and once.
  """
  low, high = scales

  def speeds(round_number: int, client_ids: Sequence[str]) -> np.ndarray:
    drawn = random_streams.uniform_numbers(client_ids, 'speed scale', seed)
    scale = low + (high - low) * drawn
    return scale * _exponential(client_ids, 'seconds', seed, round_number)

  return speeds


def device_class_speeds(classes: Sequence[DeviceClass], *, seed: int) -> Speeds:
  """Returns seconds that are drawn anew every round around a class' mean.

  Each client belongs to a class for good, drawn by the classes' shares; a
  round takes it the class' mean times Exp(1).

  Args:
    classes: The classes.
    seed: The run's seed.

  Raises:
    errors.InputError: If there is no class, or a share or mean is not positive.
  """
  for each in classes:
    if not (each.share > 0 and 0 < each.seconds < math.inf):
      raise errors.InputError(
        f'A device class has the share {each.share} and the mean seconds '
        f'{each.seconds}; positive numbers were expected.'
      )
  if not classes:
    raise errors.InputError('There is no device class; one was expected.')
  ends = np.cumsum([each.share for each in classes])
  means = np.array([each.seconds for each in classes])

  def speeds(round_number: int, client_ids: Sequence[str]) -> np.ndarray:
    drawn = random_streams.uniform_numbers(client_ids, 'device class', seed)
    # Without the last end, which rounding could put below a number drawn.
    mean = means[np.searchsorted(ends[:-1] / ends[-1], drawn, side='right')]
    return mean * _exponential(client_ids, 'seconds', seed, round_number)

  return speeds


def read_trace_speeds(
  path: str | os.PathLike[str], client_ids: Iterable[str]
) -> Speeds:
  """Returns the seconds that a file has measured, the same every round.

  Args:
    path: A CSV file with the columns client_id and seconds, a line a client.
    client_ids: Those that may be asked for; the file may have more.

  Raises:
    errors.InputError: If the file cannot be read, a client is missing or there
      twice, or its seconds are not a positive number.
  """
  seconds: dict[str, float] = {}
  for line, row in regular_files.read_csv(path, ('client_id', 'seconds')):
    client_id = row['client_id']
    if client_id in seconds:
      raise errors.InputError(
        f'{path}, line {line}: client {client_id!r} is there already; one line '
        'a client was expected.'
      )
    try:
      value = float(row['seconds'])
    except ValueError:
      value = math.nan
    if not 0 < value < math.inf:
      raise errors.InputError(
        f'{path}, line {line}: the seconds of client {client_id!r} are '
        f'{row["seconds"]!r}; a positive number was expected.'
      )
    seconds[client_id] = value
  for client_id in client_ids:
    if client_id not in seconds:
      raise errors.InputError(
        f'{path} has no line for client {client_id!r}; one for every training '
        'client was expected.'
      )

  def speeds(round_number: int, client_ids: Sequence[str]) -> np.ndarray:
    del round_number
    return np.array([seconds[c] for c in client_ids], np.float64)

  return speeds


def build_wall_clock(
  speeds: Speeds, *, communication_seconds: float = 0.0
) -> WallClock:
  """Returns how long rounds last: as its slowest participant, plus messages.

  Section 4.1 of SRPFL: a round costs T + C, with T the seconds of the slowest
  of those whose answers the server takes. A round that nobody answers costs C.

  Args:
    speeds: The clients' seconds.
    communication_seconds: C, what exchanging the models costs a round.
  """

  def round_seconds(round_number: int, client_ids: Sequence[str]) -> float:
    slowest = speeds(round_number, client_ids).max(initial=0.0)
    return float(slowest) + communication_seconds

  return round_seconds


def _exponential(client_ids: Sequence[str], *keys: int | str) -> np.ndarray:
  return -np.log1p(-random_streams.uniform_numbers(client_ids, *keys))

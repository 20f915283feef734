# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Simulated seconds of clients, and of the rounds that wait for them.

A client's seconds are a function of (seed, round, client): algorithms with one
seed see the same stragglers, and the other clients change nothing. Only the
seconds of requested clients are computed, so a round costs the same among
millions of clients as among a few.
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

# Maps (round, client ids) to float64 [num_clients], the seconds of each
# client's work in that round.
Speeds = Callable[[int, Sequence[str]], np.ndarray]
# Maps (round, ids of its cohort) to the seconds that the round lasts.
WallClock = Callable[[int, Sequence[str]], float]


class DeviceClass(NamedTuple):
  """Clients of one kind.

  Attributes:
    share: The share of clients, relative to those of the other classes.
    seconds: The mean seconds per round, positive.
  """

  share: float
  seconds: float


def fixed_exponential_speeds(*, seed: int, scale: float = 1.0) -> Speeds:
  """Returns seconds that are drawn once per client: scale * Exp(1).

  These are the fixed computation speeds of SRPFL's experiments (section 5).

  Args:
    seed: The run's seed.
    scale: The mean seconds, positive.
  """
  errors.check_range('scale', scale, above=0)

  def speeds(round_number: int, client_ids: Sequence[str]) -> np.ndarray:
    del round_number
    return scale * _exponential(client_ids, 'seconds', seed)

  return speeds


def dynamic_exponential_speeds(
  *, seed: int, scales: tuple[float, float] = (1.0, 100.0)
) -> Speeds:
  """Returns seconds that are drawn anew every round: scale_i * Exp(1).

  These are the dynamic computation speeds of SRPFL's experiments (section 5).
  U[1, 100] is from its published code, which draws scale_i once.

  Args:
    seed: The run's seed.
    scales: The bounds between which each client's mean scale_i is drawn,
      uniformly and once: positive numbers, the smaller first.
  """
  low, high = scales
  errors.check_range('The first of scales', low, above=0)
  errors.check_range('The second of scales', high, least=low)

  def speeds(round_number: int, client_ids: Sequence[str]) -> np.ndarray:
    drawn = random_streams.uniform_numbers(client_ids, 'speed scale', seed)
    scale = low + (high - low) * drawn
    return scale * _exponential(client_ids, 'seconds', seed, round_number)

  return speeds


def device_class_speeds(classes: Sequence[DeviceClass], *, seed: int) -> Speeds:
  """Returns seconds that are drawn anew every round around a class' mean.

  Each client is drawn into one class, by the classes' shares, and stays in it.
  A round takes the client the class' mean times Exp(1).

  Args:
    classes: At least one class, each with a positive share and mean.
    seed: The run's seed.
  """
  for each in classes:
    errors.check_range('The share of a device class', each.share, above=0)
    errors.check_range('The seconds of a device class', each.seconds, above=0)
  if not classes:
    raise errors.InputError(
      'There must be one device class at least, got none.'
    )
  ends = np.cumsum([each.share for each in classes])
  means = np.array([each.seconds for each in classes])

  def speeds(round_number: int, client_ids: Sequence[str]) -> np.ndarray:
    drawn = random_streams.uniform_numbers(client_ids, 'device class', seed)
    # The last end is left out: rounding could put it below a drawn number.
    mean = means[np.searchsorted(ends[:-1] / ends[-1], drawn, side='right')]
    return mean * _exponential(client_ids, 'seconds', seed, round_number)

  return speeds


def read_trace_speeds(
  path: str | os.PathLike[str], client_ids: Iterable[str]
) -> Speeds:
  """Returns measured seconds from a file, the same in every round.

  Args:
    path: A CSV file with the columns client_id and seconds, a positive number,
      one line per client.
    client_ids: The clients that may be requested; the file may have more.
  """
  seconds: dict[str, float] = {}
  for line, row in regular_files.read_csv(path, ('client_id', 'seconds')):
    client_id = row['client_id']
    if client_id in seconds:
      raise errors.InputError(
        f'{path}, line {line}: each client must have one line, got a second '
        f'one of client {client_id!r}.'
      )
    try:
      value = float(row['seconds'])
    except ValueError:
      value = math.nan
    if not 0 < value < math.inf:
      raise errors.InputError(
        f'{path}, line {line}: the seconds of client {client_id!r} must be a '
        f'positive number, got {row["seconds"]!r}.'
      )
    seconds[client_id] = value
  for client_id in client_ids:
    if client_id not in seconds:
      raise errors.InputError(
        f'{path} must have a line for each training client, got none for '
        f'client {client_id!r}.'
      )

  def speeds(round_number: int, client_ids: Sequence[str]) -> np.ndarray:
    del round_number
    return np.array([seconds[c] for c in client_ids], np.float64)

  return speeds


def build_wall_clock(
  speeds: Speeds, *, communication_seconds: float = 0.0
) -> WallClock:
  """Returns the seconds of rounds: the slowest client's, plus communication.

  Section 4.1 of SRPFL: a round takes T + C, with T the seconds of the slowest
  client among the answers that the server takes. A round without answers takes
  C.

  Args:
    speeds: The clients' seconds of work.
    communication_seconds: C, the seconds per round to exchange the models, 0
      or more.
  """
  errors.check_range('communication_seconds', communication_seconds, least=0)

  def round_seconds(round_number: int, client_ids: Sequence[str]) -> float:
    slowest = speeds(round_number, client_ids).max(initial=0.0)
    return float(slowest) + communication_seconds

  return round_seconds


def _exponential(client_ids: Sequence[str], *keys: int | str) -> np.ndarray:
  return -np.log1p(-random_streams.uniform_numbers(client_ids, *keys))

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients that subsample news with class proportions of their own.

The client sampler of Zhang and Emerson (Partial Weight Exchange in Federated
Learning, 2023): a part of the training set is for validation, and of the rest a
client subsamples a share whose class proportions are a draw from
Dir(beta, ..., beta). There every client has the whole training set, so that an
example may be at several clients, and at one client several times.
"""

from collections.abc import Mapping
import dataclasses

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.datasets import dirichlet_draws
from tasks import checks
from tasks.text import class_sampling

import numpy as np

POOLS = ('whole', 'divided')


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientIndices:
  """Which examples of the training set each client has.

  Attributes:
    train: By the clients' ids, int64; in random order.
    validation: By the ids of held-out clients, int64, sorted; no example of
      theirs is at a training client.
    num_examples: Of the training set.
  """

  train: Mapping[str, np.ndarray]
  validation: Mapping[str, np.ndarray]
  num_examples: int

  def training_pool(self) -> np.ndarray:
    """Returns what clients sample from: all but validation, sorted int64."""
    return np.setdiff1d(
      np.arange(self.num_examples),
      np.concatenate(list(self.validation.values())),
    )


def sample_clients(
  labels: np.ndarray,
  *,
  num_classes: int,
  num_clients: int,
  beta: float,
  client_fraction: float,
  validation_fraction: float,
  with_replacement: bool,
  pool: str,
  seed: int,
) -> ClientIndices:
  """Samples each client's examples.

  Args:
    labels: int [n], of 0 to num_classes - 1.
    num_classes: Number of classes.
    num_clients: Clients to train on.
    beta: Concentration of the clients' class proportions: towards 0 a client
      has one class, towards infinity all are alike.
    client_fraction: Share of what is not for validation that a client has, by
      number of examples.
    validation_fraction: Share that is for validation, the same of every class.
    with_replacement: Whether a client's examples of a class are independent
      draws. Without, what a class has too few of comes from the others
      (`class_sampling.sample_in_proportion`); at a large `client_fraction` the
      clients then differ less than `beta` says.
    pool: whole, where every client samples from the whole training set and
      there is one held-out client `validation`; or divided, where the set is
      divided evenly among the clients first, no example is at two of them, and
      each has a held-out client of its own.
    seed: A client's examples are a function of the seed, the labels and the
      options; where the pool is whole, not of the number of clients.

  Returns:
    The indices of clients client_0, client_1, ... and of held-out clients.

  Raises:
    errors.InputError: If an option is out of range or a client would be without
      examples.
  """
  checks.check_integer('num_clients', num_clients, 1)
  checks.check_choice('pool', pool, POOLS)
  checks.check_boolean('with_replacement', with_replacement)
  checks.check_share('client_fraction', client_fraction, with_one=True)
  checks.check_share('validation_fraction', validation_fraction)
  checks.check_positive('beta', beta)
  width = len(str(num_clients - 1))
  names = [f'{number:0{width}d}' for number in range(num_clients)]
  train, validation = {}, {}
  if pool == 'whole':
    parts = {'': np.arange(len(labels))}
  else:
    stream = datasets.random_generator('news pools', seed)
    pieces = np.array_split(stream.permutation(len(labels)), num_clients)
    parts = {f'_{name}': np.sort(p) for name, p in zip(names, pieces)}
  rest = {}
  for suffix, part in parts.items():
    held_out = part[
      class_sampling.sample_evenly(
        labels[part],
        round(validation_fraction * len(part)),
        ('validation news', seed, suffix),
      )
    ]
    rest[suffix] = np.setdiff1d(part, held_out)
    if held_out.size:
      validation[f'validation{suffix}'] = held_out
  if not validation:
    raise errors.InputError(
      f'validation_fraction {validation_fraction} of {len(labels)} examples '
      'leaves none for validation; at least one was expected.'
    )
  for number, name in enumerate(names):
    left = rest['' if pool == 'whole' else f'_{name}']
    count = round(client_fraction * len(left))
    if not count:
      raise errors.InputError(
        f'client_fraction {client_fraction} of the {len(left)} examples that a '
        'client samples from leaves none; at least one was expected.'
      )
    proportions = draw_proportions(
      number, num_classes=num_classes, beta=beta, seed=seed
    )
    train[f'client_{name}'] = left[
      class_sampling.sample_in_proportion(
        labels[left],
        count,
        proportions,
        with_replacement=with_replacement,
        stream=datasets.random_generator('news of a client', seed, number),
      )
    ]
  return ClientIndices(
    train=train, validation=validation, num_examples=len(labels)
  )


def draw_proportions(
  client_number: int, *, num_classes: int, beta: float, seed: int
) -> np.ndarray:
  """Draws a client's class proportions from Dir(beta, ..., beta).

  Args:
    client_number: The client, from 0.
    num_classes: Number of classes.
    beta: The concentration.
    seed: Another seed draws others.

  Returns:
    float64 [num_classes], whose sum is 1.
  """
  stream = datasets.random_generator('class proportions', seed, client_number)
  return dirichlet_draws.draw_dirichlet(
    stream, np.full(num_classes, float(beta)), 1
  )[0]

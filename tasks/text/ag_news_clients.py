# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients that subsample news with class proportions of their own.

This is the client sampler of Zhang and Emerson (Partial Weight Exchange in
Federated Learning, 2023): a part of the training set is for validation; each
client subsamples a share of the rest with class proportions drawn from
Dir(beta, ..., beta). In that paper every client samples from the whole training
set, so an example may be at several clients, and at one client several times.
"""

from collections.abc import Mapping
import dataclasses

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff.datasets import dirichlet_draws
from tasks.text import class_sampling

import numpy as np

# The options of a task of such clients.
OPTIONS = {
  'num_clients': fields.Field(
    5, fields.integer(1), 'The number of training clients.'
  ),
  'beta': fields.Field(
    1.0,
    fields.number(positive=True),
    "The concentration of the clients' class proportions: 1, 0.5 and 0.25 in "
    'the memo; smaller values make clients more heterogeneous.',
  ),
  'client_fraction': fields.Field(
    0.75,
    fields.share,
    'The share of the training set that a client subsamples.',
  ),
  'with_replacement': fields.Field(
    True,
    fields.boolean,
    'Whether a client samples with replacement, as in the code of the memo; '
    'without it, clients differ less.',
  ),
  'pool': fields.Field(
    'whole',
    fields.one_of('whole', 'divided'),
    'whole, for clients that all subsample the same training set, or divided, '
    'for clients that have no example in common.',
  ),
  'validation_fraction': fields.Field(
    0.1, fields.below_1, 'The share of the training set for validation.'
  ),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientIndices:
  """The indices of each client's examples in the training set.

  Attributes:
    train: Each client's indices by its id, int64, in random order.
    validation: Each held-out client's indices by its id, int64, sorted; no
      training client has any of these examples.
    num_examples: The number of examples of the training set.
  """

  train: Mapping[str, np.ndarray]
  validation: Mapping[str, np.ndarray]
  num_examples: int

  def training_pool(self) -> np.ndarray:
    """Returns the sorted int64 indices of all examples but validation's."""
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
    labels: The labels, int [n] of 0 to num_classes - 1.
    num_classes: The number of classes.
    num_clients: The number of training clients.
    beta: The concentration of the clients' class proportions: towards 0 a
      client has one class, towards infinity all clients are alike.
    client_fraction: The share of the examples outside validation that a client
      has, by number.
    validation_fraction: The share for validation, the same of every class.
    with_replacement: Whether a client's examples of a class are independent
      draws. If not, other classes make up for a class with too few examples
      (`class_sampling.sample_in_proportion`); at a large `client_fraction` the
      clients then differ less than `beta` says.
    pool: whole, if every client samples from the whole training set and there
      is one held-out client `validation`; or divided, if the set is first
      divided evenly among the clients, so that no two share an example and each
      has a held-out client of its own.
    seed: The seed. A client's examples are a function of the seed, the labels
      and the options, except for the number of clients if the pool is whole.

  Returns:
    The indices of clients client_0, client_1, ... and of held-out clients.
  """
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
      'must leave at least one for validation, got none.'
    )
  for number, name in enumerate(names):
    left = rest['' if pool == 'whole' else f'_{name}']
    count = round(client_fraction * len(left))
    if not count:
      raise errors.InputError(
        f'client_fraction {client_fraction} of the {len(left)} examples that a '
        'client samples from must leave at least one, got none.'
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

  They are a function of the seed and the client's number, from 0.
  """
  stream = datasets.random_generator('class proportions', seed, client_number)
  return dirichlet_draws.draw_dirichlet(
    stream, np.full(num_classes, float(beta)), 1
  )[0]

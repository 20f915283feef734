# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Synthetic linear regression on a representation that clients share.

The problem of Tziotis et al. (arXiv:2206.02078, section 4) and of Collins et
al. (arXiv:2102.07078): y = x B w_i + noise, with a representation B that all
clients share and a head w_i for each client.
"""

import dataclasses
import functools

from fedfish_tff import datasets
from fedfish_tff import fields
from fedfish_tff import models
from tasks import options
from tasks.task import Task

import numpy as np

NAME = 'linear_representation'
_HELD_OUT = 8

OPTIONS = {
  'num_clients': fields.Field(
    64,
    fields.integer(1),
    'The number of training clients; validation and test have 8 more each.',
  ),
  'num_examples': fields.Field(
    30, fields.integer(1), 'The number of examples of each client.'
  ),
  'num_features': fields.Field(
    20, fields.integer(1), 'The number of features, d.'
  ),
  'num_components': fields.Field(
    2, fields.integer(1), 'The dimension of the representation, k.'
  ),
  'noise_stddev': fields.Field(
    0.1,
    fields.number(positive=True),
    "The standard deviation of the labels' noise; its square is the mse of the "
    'true model.',
  ),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class LinearClients:
  """A generator of clients' examples, which depend on seed, round and client.

  Attributes:
    seed: The seed of the representation, the heads and all examples.
    num_features: The number of features, d.
    num_components: The dimension of the representation, k.
    noise_stddev: The standard deviation of y around x B w_i.
  """

  seed: int
  num_features: int = 20
  num_components: int = 2
  noise_stddev: float = 0.1

  @functools.cached_property
  def representation(self) -> np.ndarray:
    """B, float64 [d, k], orthonormal columns of a uniformly random subspace."""
    stream = datasets.random_generator('linear representation', self.seed)
    shape = [self.num_features, self.num_components]
    return np.linalg.qr(stream.standard_normal(shape)).Q

  def head(self, client_id: str) -> np.ndarray:
    """Returns w_i, float64 [k], uniform on the sphere of radius sqrt(k)."""
    stream = datasets.random_generator('linear head', self.seed, client_id)
    normal = stream.standard_normal(self.num_components)
    return np.sqrt(self.num_components) * normal / np.linalg.norm(normal)

  def draw(
    self, client_id: str, num_examples: int, *, round_number: int
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns a client's new examples of a round.

    Args:
      client_id: The client's id, any text.
      num_examples: The number of examples, m.
      round_number: The round, any integer.

    Returns:
      x float32 [m, d], standard normal, and y float32 [m, 1].
    """
    stream = datasets.random_generator(
      'linear examples', self.seed, round_number, client_id
    )
    drawn = stream.standard_normal(
      [num_examples, self.num_features + 1], np.float32
    )
    x, noise = drawn[:, :-1], drawn[:, -1:]
    direction = self.representation @ self.head(client_id)
    y = x @ direction[:, np.newaxis] + self.noise_stddev * noise
    return x, y.astype(np.float32)


def client_names(num_clients: int) -> tuple[str, ...]:
  """Returns the ids of `num_clients` clients."""
  return tuple(f'client_{i:06}' for i in range(num_clients))


@options.declare(OPTIONS)
def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  num_clients: int,
  num_examples: int,
  num_features: int,
  num_components: int,
  noise_stddev: float,
) -> Task:
  """Creates the task, for any method: a client's examples never change.

  `OPTIONS` describes the options. The seed is that of representation, heads,
  examples and initial weights. data_dir must be None, because the data is
  generated.

  Returns:
    The task: x float32 [d] and y float32 [1]; metric mse. Without a head of
    each client's own, no model is better than the constant 0, with an mse of
    k + noise_stddev^2.
  """
  options.check_no_data_dir(NAME, data_dir)
  create_model = functools.partial(
    models.create_linear_representation,
    num_features=num_features,
    num_components=num_components,
    seed=seed,
  )
  create_model()  # This checks the sizes.
  clients = LinearClients(
    seed=seed,
    num_features=num_features,
    num_components=num_components,
    noise_stddev=noise_stddev,
  )
  train = client_names(num_clients)
  held_out = {
    split: [f'{split}_{i}' for i in range(_HELD_OUT)]
    for split in ('validation', 'test')
  }
  data = datasets.InMemoryClientData(
    {
      client_id: clients.draw(client_id, num_examples, round_number=0)
      for client_id in (*train, *held_out['validation'], *held_out['test'])
    }
  )
  return Task(
    name=NAME,
    train=data.select(train),
    validation=data.select(held_out['validation']),
    test=data.select(held_out['test']),
    create_model=create_model,
    metric='mse',
    higher_is_better=False,
    label_sampler=models.gaussian_label_sampler(),
    tensor_names=models.LINEAR_REPRESENTATION_TENSORS,
    synthetic='generated points',
  )

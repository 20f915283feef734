# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A sine wave that two clients see on ranges with more or less overlap.

This is the toy problem of the FedFish paper (arXiv:2311.10291, section 3). If
the clients' ranges do not overlap, the mean of their models fits neither, and
the Fisher information shows which model knows which part. The paper does not
state ranges and noise; these are our choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import functools

from fedfish_tff import datasets
from fedfish_tff import fields
from fedfish_tff import models
from tasks import options
from tasks.task import Task

import numpy as np

NAME = 'toy_regression'
NOISE_STDDEV = 0.05

# The range of x of each of the two clients.
RANGES: Mapping[str, tuple[tuple[float, float], tuple[float, float]]] = {
  'full': ((-2.0, 2.0), (-2.0, 2.0)),
  'partial': ((-2.0, 0.7), (-0.7, 2.0)),
  'none': ((-2.0, -0.2), (0.2, 2.0)),
}

OPTIONS = {
  'overlap': fields.Field(
    'partial',
    fields.one_of(*RANGES),
    "The overlap of the two clients' ranges: full, partial or none.",
  ),
  'num_examples': fields.Field(
    100, fields.integer(1), 'The number of points per client.'
  ),
  'hidden_units': fields.Field(
    (32, 32), fields.sizes, "The widths of the model's hidden layers."
  ),
  'units': fields.Field(
    'tanh',
    fields.text,
    'Their activation: each gaussian unit responds to few inputs, each tanh '
    'unit to all.',
  ),
  'slope': fields.Field(
    None,
    fields.Optional(float, fields.number(positive=True)),
    "The standard deviation of the first layer's kernel: the steeper a gaussian "
    'unit, the fewer inputs it responds to; None for 1.',
  ),
}


def true_function(x: np.ndarray) -> np.ndarray:
  """Returns sin(3 x), the clients' labels without noise."""
  return np.sin(3 * x)


@options.declare(OPTIONS)
def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  overlap: str,
  num_examples: int,
  hidden_units: Sequence[int],
  units: str,
  slope: float | None,
) -> Task:
  """Creates the task; `OPTIONS` describes the options.

  The seed is that of the points, their noise and the initial weights. data_dir
  must be None, because the data is generated.

  Returns:
    The task: x and y float32 [1]; two training clients, and one held-out client
    each for validation and test with new points of both ranges; metric mse.
  """
  options.check_no_data_dir(NAME, data_dir)
  left, right = RANGES[overlap]
  clients = datasets.InMemoryClientData(
    {
      'client_0': _draw_points((left,), num_examples, 'client_0', seed),
      'client_1': _draw_points((right,), num_examples, 'client_1', seed),
      'test': _draw_points((left, right), num_examples, 'test', seed),
      'validation': _draw_points(
        (left, right), num_examples, 'validation', seed
      ),
    }
  )
  return Task(
    name=NAME,
    train=clients.select(['client_0', 'client_1']),
    validation=clients.select(['validation']),
    test=clients.select(['test']),
    create_model=functools.partial(
      models.create_mlp_regressor,
      hidden_units=tuple(hidden_units),
      activation=units,
      slope=slope,
      seed=seed,
    ),
    metric='mse',
    higher_is_better=False,
    label_sampler=models.gaussian_label_sampler(),
    tensor_names=models.mlp_tensor_names(len(hidden_units)),
    synthetic='generated points',
  )


def _draw_points(
  ranges: Sequence[tuple[float, float]],
  num_examples: int,
  client_id: str,
  seed: int,
) -> tuple[np.ndarray, np.ndarray]:
  """Returns (x, y), each float32 [num_examples, 1], x uniform on the union."""
  stream = datasets.random_generator('toy regression', seed, client_id)
  low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
  # Points are drawn on the line without the gap between the ranges, if there is
  # one, and shifted by the gap.
  gap_start = min(r[1] for r in ranges)
  gap = max(0.0, max(r[0] for r in ranges) - gap_start)
  x = stream.uniform(low, high - gap, [num_examples, 1])
  x = np.where(x > gap_start, x + gap, x)
  y = true_function(x) + NOISE_STDDEV * stream.standard_normal(x.shape)
  return x.astype(np.float32), y.astype(np.float32)

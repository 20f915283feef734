# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""How many examples clients have: a law, and how it is fitted to real sizes.

Zipf's law as Mandelbrot generalised it, on a range: p(n) proportional to
(n + shift)^-exponent for n of smallest to largest. Users' photographs follow it
with an exponent near 2, and grids of places, whose cells are divided where they
grow beyond a size, with one near 1.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools

from fedfish_tff import errors
from fedfish_tff.datasets import random_streams

import numpy as np
from scipy import optimize
from scipy import special

# The search starts at each, since likelihoods have more than one peak.
_EXPONENTS = (0.5, 2.0)
_LOG_OFFSETS = (0.0, 3.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientSizeLaw:
  """The Zipf-Mandelbrot law on a range.

  Attributes:
    exponent: How fast probabilities fall; 0 for equal ones.
    shift: Added to the sizes, more than -smallest; where it is large, small
      sizes are about equally likely.
    smallest: The least number of examples, at least 1.
    largest: The greatest one.
  """

  exponent: float
  shift: float
  smallest: int
  largest: int

  def __post_init__(self) -> None:
    for name in ('smallest', 'largest'):
      errors.check_positive_integer(name, getattr(self, name))
    if self.largest < self.smallest:
      raise errors.InputError(
        f'The smallest size is {self.smallest} and the largest {self.largest}; '
        'a largest size of at least the smallest was expected.'
      )
    if not (np.isfinite(self.exponent) and np.isfinite(self.shift)):
      raise errors.InputError(
        f'exponent is {self.exponent} and shift {self.shift}; finite numbers '
        'were expected.'
      )
    if self.shift <= -self.smallest:
      raise errors.InputError(
        f'shift is {self.shift}; more than {-self.smallest} was expected, minus '
        'the smallest size.'
      )

  @functools.cached_property
  def probabilities(self) -> np.ndarray:
    """float64 [largest - smallest + 1], of the sizes in order."""
    sizes = np.arange(self.smallest, self.largest + 1)
    return special.softmax(-self.exponent * np.log(sizes + self.shift))

  @property
  def mean(self) -> float:
    """The expected number of examples."""
    sizes = np.arange(self.smallest, self.largest + 1)
    return float(self.probabilities @ sizes)

  def draw(self, num_clients: int, *, seed: int) -> np.ndarray:
    """Draws the sizes of clients.

    One is drawn from each of as many equally likely parts of the law, so that
    their sum hardly depends on chance, however heavy the tail.

    Args:
      num_clients: Number of clients.
      seed: The sizes are a function of it and the law.

    Returns:
      int64 [num_clients], in random order.

    Raises:
      errors.InputError: If `num_clients` is not a positive integer.
    """
    errors.check_positive_integer('num_clients', num_clients)
    stream = random_streams.random_generator('client sizes', seed)
    places = (np.arange(num_clients) + stream.random(num_clients)) / num_clients
    indices = np.searchsorted(np.cumsum(self.probabilities), places)
    # What rounding leaves below 1 would give the number after the last.
    indices = np.minimum(indices, self.largest - self.smallest)
    return stream.permutation(self.smallest + indices)


def fit_client_size_law(sizes: Sequence[int]) -> ClientSizeLaw:
  """Fits the law to real sizes by maximum likelihood.

  Args:
    sizes: The number of examples of each client.

  Returns:
    The law on the range of the sizes.

  Raises:
    errors.InputError: If sizes are not positive integers, or fewer than three
      differ.
  """
  sizes = np.asarray(sizes)
  if not np.issubdtype(sizes.dtype, np.integer) or sizes.ndim != 1:
    raise errors.InputError(
      f'The sizes of clients are {sizes.dtype.name}{list(sizes.shape)}; a '
      'vector of integers was expected.'
    )
  values, counts = np.unique(sizes, return_counts=True)
  if len(values) < 3 or values[0] < 1:
    raise errors.InputError(
      f'The sizes of clients are {values[:3].tolist()}{", ..." * (len(values) > 3)}'
      '; three or more different positive integers were expected.'
    )
  smallest, largest = int(values[0]), int(values[-1])
  possible = np.arange(smallest, largest + 1)

  def law(parameters: np.ndarray) -> tuple[float, float]:
    exponent, log_offset = parameters
    return exponent, np.exp(log_offset) - smallest

  def negative_log_likelihood(parameters: np.ndarray) -> float:
    exponent, shift = law(parameters)
    logits = -exponent * np.log(possible + shift)
    log_probabilities = logits - special.logsumexp(logits)
    return -float(counts @ log_probabilities[values - smallest])

  found = min(
    (
      optimize.minimize(
        negative_log_likelihood,
        [exponent, log_offset],
        method='Nelder-Mead',
        options={'maxiter': 4000, 'xatol': 1e-6, 'fatol': 1e-6},
      )
      for exponent in _EXPONENTS
      for log_offset in _LOG_OFFSETS
    ),
    key=lambda result: result.fun,
  )
  exponent, shift = law(found.x)
  return ClientSizeLaw(
    exponent=float(exponent),
    shift=float(shift),
    smallest=smallest,
    largest=largest,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PublishedSplit:
  """The outline of a federated data set of photographs.

  Attributes:
    num_clients: Training clients.
    num_classes: Classes.
    size_law: Fitted to the clients' real sizes.
  """

  num_clients: int
  num_classes: int
  size_law: ClientSizeLaw


# Of Hsu, Qi and Brown (2020, arXiv:2003.08082). The laws are those that
# `fit_client_size_law` gives for the sizes in dataset_statistics/ of
# https://github.com/Erosinho13/Fed3R; sums of drawn sizes are within 6 % of the
# real ones. Their iNaturalist-Geo-300 is not listed, since there are no sizes of
# it to fit a law to.
PUBLISHED_SPLITS: Mapping[str, PublishedSplit] = {
  'inaturalist_users_120k': PublishedSplit(
    num_clients=9275,
    num_classes=1203,
    size_law=ClientSizeLaw(
      exponent=1.8460, shift=0.5748, smallest=1, largest=2511
    ),
  ),
  'inaturalist_geo_100': PublishedSplit(
    num_clients=3606,
    num_classes=1203,
    size_law=ClientSizeLaw(
      exponent=0.8999, shift=5.4704, smallest=2, largest=100
    ),
  ),
  'inaturalist_geo_1k': PublishedSplit(
    num_clients=368,
    num_classes=1203,
    size_law=ClientSizeLaw(
      exponent=1.0400, shift=119.0527, smallest=12, largest=974
    ),
  ),
  'inaturalist_geo_3k': PublishedSplit(
    num_clients=135,
    num_classes=1203,
    size_law=ClientSizeLaw(
      exponent=0.9901, shift=131.1915, smallest=31, largest=2949
    ),
  ),
  'landmarks_users_160k': PublishedSplit(
    num_clients=1262,
    num_classes=2028,
    size_law=ClientSizeLaw(
      exponent=2.6585, shift=50.4176, smallest=25, largest=2858
    ),
  ),
}

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The numbers of examples of clients: a law, and the sizes of published splits.

The law is Zipf's as generalised by Mandelbrot, on a range: p(n) is proportional
to (n + shift)^-exponent for n from smallest to largest. The photographs of
users follow it with an exponent near 2. Grids of places, with cells that are
divided when they exceed a size, follow it with one near 1.
"""

from collections.abc import Mapping
import dataclasses
import functools

from fedfish_tff import errors
from fedfish_tff.datasets import random_streams

import numpy as np
from scipy import special


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientSizeLaw:
  """The Zipf-Mandelbrot law on a range.

  Attributes:
    exponent: The exponent, the rate at which probabilities fall; 0 for equal
      ones.
    shift: The shift added to sizes, more than -smallest. If it is large, small
      sizes are about equally likely.
    smallest: The smallest number of examples, at least 1.
    largest: The largest number of examples.
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
        f'The largest size must be at least the smallest, {self.smallest}, got '
        f'{self.largest}.'
      )
    if not (np.isfinite(self.exponent) and np.isfinite(self.shift)):
      raise errors.InputError(
        f'exponent and shift must be finite numbers, got {self.exponent} and '
        f'{self.shift}.'
      )
    if self.shift <= -self.smallest:
      raise errors.InputError(
        f'shift must be above {-self.smallest}, minus the smallest size, got '
        f'{self.shift}.'
      )

  @functools.cached_property
  def probabilities(self) -> np.ndarray:
    """The sizes' probabilities, in order, float64 [largest - smallest + 1]."""
    sizes = np.arange(self.smallest, self.largest + 1)
    return special.softmax(-self.exponent * np.log(sizes + self.shift))

  @property
  def mean(self) -> float:
    """The expected number of examples."""
    sizes = np.arange(self.smallest, self.largest + 1)
    return float(self.probabilities @ sizes)

  def draw(self, num_clients: int, *, seed: int) -> np.ndarray:
    """Draws the sizes of clients, int64 [num_clients], in random order.

    One size is drawn from each of `num_clients` equally likely parts of the
    law, so that their sum hardly depends on chance, however heavy the tail. The
    sizes are a function of the seed and the law.
    """
    errors.check_positive_integer('num_clients', num_clients)
    stream = random_streams.random_generator('client sizes', seed)
    places = (np.arange(num_clients) + stream.random(num_clients)) / num_clients
    indices = np.searchsorted(np.cumsum(self.probabilities), places)
    # Rounding may leave the last sum below 1, and the index beyond the last.
    indices = np.minimum(indices, self.largest - self.smallest)
    return stream.permutation(self.smallest + indices)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PublishedSplit:
  """The outline of a published federated data set of photographs.

  Attributes:
    num_clients: The number of training clients.
    num_classes: The number of classes of all clients together.
    size_law: The law fitted to the clients' real sizes.
  """

  num_clients: int
  num_classes: int
  size_law: ClientSizeLaw


# The splits of Hsu, Qi and Brown (2020, arXiv:2003.08082). The laws are fitted
# by maximum likelihood to the sizes in dataset_statistics/ of
# https://github.com/Erosinho13/Fed3R; sums of drawn sizes are within 6 % of the
# real ones. Their iNaturalist-Geo-300 is not listed, since no sizes are
# published to which a law could be fitted.
# Clients, classes, exponent, shift, smallest and largest size.
_FITTED = {
  'inaturalist_users_120k': (9275, 1203, 1.8460, 0.5748, 1, 2511),
  'inaturalist_geo_100': (3606, 1203, 0.8999, 5.4704, 2, 100),
  'inaturalist_geo_1k': (368, 1203, 1.0400, 119.0527, 12, 974),
  'inaturalist_geo_3k': (135, 1203, 0.9901, 131.1915, 31, 2949),
  'landmarks_users_160k': (1262, 2028, 2.6585, 50.4176, 25, 2858),
}
PUBLISHED_SPLITS: Mapping[str, PublishedSplit] = {
  name: PublishedSplit(
    num_clients=num_clients,
    num_classes=num_classes,
    size_law=ClientSizeLaw(
      exponent=exponent, shift=shift, smallest=smallest, largest=largest
    ),
  )
  for name, (
    num_clients,
    num_classes,
    exponent,
    shift,
    smallest,
    largest,
  ) in _FITTED.items()
}

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients whose features are generated when they are loaded."""

from collections.abc import Sequence
from typing import Any

from fedfish_tff import datasets

import numpy as np
import tensorflow as tf

# The share of a class is proportional to 1 / (rank + 10), a shifted Zipf law.
_RANK_SHIFT = 10


class FeatureGenerator:
  """Classes that are normal distributions, with common and rare classes."""

  def __init__(
    self, *, num_classes: int, num_features: int, separation: float, seed: int
  ) -> None:
    """Draws the classes' means.

    Args:
      num_classes: The number of classes, each with a mean of its own.
      num_features: The width of x.
      separation: The standard deviation of the means in each feature.
      seed: The seed of everything that is generated.
    """
    stream = datasets.random_generator('generated classes', seed)
    means = stream.standard_normal([num_classes, num_features], np.float32)
    self._means = means * np.float32(separation)
    shares = 1 / (np.arange(num_classes) + _RANK_SHIFT)
    self._cumulative = np.cumsum(stream.permutation(shares / shares.sum()))
    self._seed = seed

  @property
  def num_features(self) -> int:
    """The width of the features."""
    return self._means.shape[1]

  def generate(
    self, client_id: str, size: int, concentration: float | None
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns a client's examples, a function of its id and the seed.

    Args:
      client_id: The id of the client, any text.
      size: The number of its examples.
      concentration: The concentration of the Dirichlet distribution of its
        class proportions; None for the proportions of all data.

    Returns:
      (x float32 [size, num_features], y int32 [size]).
    """
    stream = datasets.random_generator(
      'generated features', self._seed, client_id
    )
    # Rounding may leave the last sum below 1, hence a class past the last one.
    labels = np.searchsorted(self._cumulative[:-1], stream.random(size))
    if concentration is not None:
      # Polya's urn draws labels as from Dirichlet proportions: after n labels,
      # the next repeats one of them with probability n / (n + concentration),
      # and is a new draw otherwise.
      before = np.arange(size)
      repeats = stream.random(size) * (before + concentration) < before
      earlier = (stream.random(size) * before).astype(np.int64)
      for n in np.flatnonzero(repeats):
        labels[n] = labels[earlier[n]]
    x = stream.standard_normal([size, self.num_features], np.float32)
    x += self._means[labels]
    return x, labels.astype(np.int32)


class GeneratedClients(datasets.ClientData):
  """Clients that are generated when they are loaded."""

  def __init__(
    self,
    generator: FeatureGenerator,
    prefix: str,
    sizes: Sequence[int],
    concentration: float | None,
  ) -> None:
    """Names the clients.

    Args:
      generator: The generator of their examples.
      prefix: The text before a client's number.
      sizes: The number of examples of each client.
      concentration: The concentration of each client's class proportions, as in
        `FeatureGenerator.generate`.
    """
    width = len(str(len(sizes) - 1))
    self._sizes = {
      f'{prefix}_{number:0{width}d}': int(size)
      for number, size in enumerate(sizes)
    }
    self._generator = generator
    self._concentration = concentration

  @property
  def client_ids(self) -> tuple[str, ...]:
    return tuple(self._sizes)

  @property
  def element_spec(self) -> Any:
    return (
      tf.TensorSpec([self._generator.num_features], tf.float32),
      tf.TensorSpec([], tf.int32),
    )

  def load_client(self, client_id: str) -> datasets.Examples:
    if client_id not in self._sizes:
      raise datasets.unknown_client_error(client_id, self.client_ids)
    return datasets.validate_examples(
      self._generator.generate(
        client_id, self._sizes[client_id], self._concentration
      ),
      client_id=client_id,
      element_spec=self.element_spec,
    )

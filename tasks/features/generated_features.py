# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Synthetic features with the client sizes of real federated photographs.

The task measures rounds, bytes and time at the size of iNaturalist (9,275
users, 1,203 species) or Landmarks; their images take 180 GB and more. Sizes are
drawn from the laws in `datasets.PUBLISHED_SPLITS`, which are fitted to the real
sizes; a class is a normal distribution of features. The task says nothing about
the accuracy on real photographs.
"""

from collections.abc import Sequence
import functools
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import models
from tasks import checks
from tasks.task import Task

import numpy as np
import tensorflow as tf

NAME = 'generated_features'

# The share of a class is proportional to 1 / (rank + 10), a shifted Zipf law.
_RANK_SHIFT = 10
_HELD_OUT_CLIENT_EXAMPLES = 100


def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  split: str = 'inaturalist_users_120k',
  num_features: int = 1280,
  num_clients: int = 0,
  concentration: float = 5.0,
  separation: float = 0.2,
  num_held_out: int = 50,
  cache_megabytes: int = 1024,
) -> Task:
  """Creates the task.

  Args:
    seed: The seed of sizes and features.
    data_dir: None, because no file is read.
    split: One of `datasets.PUBLISHED_SPLITS`: inaturalist_users_120k,
      inaturalist_geo_100, inaturalist_geo_1k, inaturalist_geo_3k or
      landmarks_users_160k.
    num_features: The width of the features; MobileNetV2 has 1,280.
    num_clients: The number of training clients; 0 for the published number.
    concentration: The concentration of the clients' class proportions, which
      are Dirichlet draws around those of all data: towards 0 a client has one
      class, towards infinity all clients are alike.
    separation: The standard deviation of the classes' means in each feature;
      that of examples around their mean is 1.
    num_held_out: The number of validation clients, and of test clients; each
      has 100 examples with the class proportions of all data.
    cache_megabytes: The budget for keeping clients in memory, in 2^20 bytes,
      for each of training, validation and test clients.

  Returns:
    The task: x float32 [num_features], y int32; metric accuracy.

  Raises:
    errors.InputError: If an option is out of range.
  """
  checks.check_no_data_dir(NAME, data_dir)
  checks.check_choice('split', split, datasets.PUBLISHED_SPLITS)
  for name, value, least in (
    ('num_features', num_features, 1),
    ('num_clients', num_clients, 0),
    ('num_held_out', num_held_out, 1),
    ('cache_megabytes', cache_megabytes, 1),
  ):
    checks.check_integer(name, value, least)
  for name, value in (
    ('concentration', concentration),
    ('separation', separation),
  ):
    checks.check_positive(name, value)
  outline = datasets.PUBLISHED_SPLITS[split]
  generator = FeatureGenerator(
    num_classes=outline.num_classes,
    num_features=num_features,
    separation=separation,
    seed=seed,
  )
  sizes = outline.size_law.draw(num_clients or outline.num_clients, seed=seed)
  held_out_sizes = [_HELD_OUT_CLIENT_EXAMPLES] * num_held_out
  feature_map = models.create_identity_features(num_features)
  return Task(
    name=NAME,
    train=GeneratedClients(generator, 'client', sizes, concentration),
    validation=GeneratedClients(generator, 'validation', held_out_sizes, None),
    test=GeneratedClients(generator, 'test', held_out_sizes, None),
    create_model=functools.partial(
      models.create_feature_classifier,
      feature_map,
      num_classes=outline.num_classes,
    ),
    feature_map=feature_map,
    metric='accuracy',
    higher_is_better=True,
    label_sampler=models.categorical_label_sampler(),
    tensor_names=models.feature_classifier_tensor_names(feature_map),
    # The identity: preprocessed clients are cached, so each is generated once.
    preprocess=lambda examples: examples,
    cache_bytes=cache_megabytes * 2**20,
    synthetic='generated features',
  )


class FeatureGenerator:
  """Classes that are normal distributions, with common and rare classes."""

  def __init__(
    self, *, num_classes: int, num_features: int, separation: float, seed: int
  ) -> None:
    """Draws the classes' means.

    Args:
      num_classes: The number of classes.
      num_features: The width of the features.
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
      client_id: The client's id.
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
      concentration: See `FeatureGenerator.generate`.
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

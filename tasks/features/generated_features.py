# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Synthetic features with the client sizes of real federated photographs.

The task measures rounds, bytes and time at the size of iNaturalist (9,275
users, 1,203 species) or Landmarks; their images take 180 GB and more. Sizes are
drawn from the laws in `datasets.PUBLISHED_SPLITS`, which are fitted to the real
sizes; a class is a normal distribution of features. The task says nothing about
the accuracy on real photographs.
"""

import functools

from fedfish_tff import datasets
from fedfish_tff import models
from tasks import checks
from tasks.features import generated_clients
from tasks.task import Task

NAME = 'generated_features'

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
  generator = generated_clients.FeatureGenerator(
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
    train=generated_clients.GeneratedClients(
      generator, 'client', sizes, concentration
    ),
    validation=generated_clients.GeneratedClients(
      generator, 'validation', held_out_sizes, None
    ),
    test=generated_clients.GeneratedClients(
      generator, 'test', held_out_sizes, None
    ),
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

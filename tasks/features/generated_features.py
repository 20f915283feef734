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
from fedfish_tff import fields
from fedfish_tff import models
from tasks import options
from tasks.task import Task

NAME = 'generated_features'

_HELD_OUT_CLIENT_EXAMPLES = 100


OPTIONS = {
  'split': fields.Field(
    'inaturalist_users_120k',
    fields.one_of(*datasets.PUBLISHED_SPLITS),
    'The published split whose sizes and classes the clients have: '
    f'{", ".join(datasets.PUBLISHED_SPLITS)}.',
  ),
  'num_features': fields.Field(
    1280,
    fields.integer(1),
    'The width of the features; MobileNetV2 has 1,280.',
  ),
  'num_clients': fields.Field(
    0,
    fields.integer(0),
    'The number of training clients; 0 for the published number.',
  ),
  'concentration': fields.Field(
    5.0,
    fields.number(positive=True),
    "The concentration of the clients' class proportions, which are Dirichlet "
    'draws around those of all data: towards 0 a client has one class, towards '
    'infinity all clients are alike.',
  ),
  'separation': fields.Field(
    0.2,
    fields.number(positive=True),
    "The standard deviation of the classes' means in each feature; that of "
    'examples around their mean is 1.',
  ),
  'num_held_out': fields.Field(
    50,
    fields.integer(1),
    'The number of validation clients, and of test clients; each has 100 '
    'examples with the class proportions of all data.',
  ),
  'cache_megabytes': options.cache_megabytes(1024),
}


@options.declare(OPTIONS)
def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  split: str,
  num_features: int,
  num_clients: int,
  concentration: float,
  separation: float,
  num_held_out: int,
  cache_megabytes: int,
) -> Task:
  """Creates the task; `OPTIONS` describes the options.

  The seed is that of sizes and features. data_dir must be None, because no file
  is read.

  Returns:
    The task: x float32 [num_features], y int32; metric accuracy.
  """
  # It imports TensorFlow.
  from tasks.features import generated_clients  # pylint: disable=g-import-not-at-top

  options.check_no_data_dir(NAME, data_dir)
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

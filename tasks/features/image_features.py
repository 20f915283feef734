# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""CIFAR-10 and CIFAR-100 on the features of a pretrained network.

All images are divided anew among clients by the Dirichlet distribution or, in
its limit alpha = 0, into clients of one class each. Clients hold features of a
pretrained network, for classifiers on it; or the images, to train the network
as well; or the inputs of one of its layers, to train it from that layer on in a
fraction of the time. The division is the same in all three cases, and with the
defaults that of Fed3R (Fani et al., 2024). (The task cifar100 has the clients
that TFF publishes.)

The file of images is an .npz file with the arrays images (uint8 [n, 32, 32,
3]), labels (integers [n]) and is_test ([n]), all images or a sample; or for
CIFAR-100 TFF's cifar100.sqlite (50,000 for training and 10,000 held-out ones,
as published).
"""

from __future__ import annotations

from collections.abc import Callable
import functools
import pathlib

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from tasks import options
from tasks.features import extractors
from tasks.images import labelled_images
from tasks.task import Task

import numpy as np

# Held-out images are divided at random into clients of about this size.
_HELD_OUT_CLIENT_EXAMPLES = 100


def create_image_features_task(
  name: str,
  read_images: Callable[[pathlib.Path], labelled_images.LabelledImages],
  num_classes: int,
  *,
  seed: int,
  data_dir: str | None = None,
  images: str,
  inputs: str,
  num_clients: int,
  alpha: float,
  extractor: str,
  weights: str | None,
  image_size: int,
  unit_features: bool,
  feature_dir: str | None,
  validation_fraction: float,
  trust_saved_models: bool = False,
) -> Task:
  """Creates a task of a data set's images.

  The first three arguments are the task's name, the function that reads a file
  of images, and the number of classes; `_declare_options` describes the
  options. The seed is that of the division and of the choice of validation
  images. data_dir is the folder of the files; None means the working folder.
  trust_saved_models says whether the extractor may be a model from a file.

  Returns:
    The task: x float32 [features], [height, width, 3] of 0 to 255 or [numbers
    of the layer's input], y int32; metric accuracy.
  """
  data = read_images(extractors.find_file(images, data_dir))
  partition = _divide(data, num_clients=num_clients, alpha=alpha, seed=seed)
  held_out = _divide_held_out(data, validation_fraction, seed)
  network = extractors.create_extractor(
    extractor,
    weights=weights,
    image_size=image_size,
    data_dir=data_dir,
    trusted=trust_saved_models,
  )
  frozen, trained = extractors.divide(
    network, inputs, unit_features=unit_features
  )
  if frozen is None:
    x, preprocess = data.images, _to_float
  else:
    x = extractors.extract_in_parts(
      extractors.kept_extract(frozen, feature_dir), data.images
    )
    if trained is None and unit_features:
      x = extractors.to_unit_length(x)
    preprocess = None
  feature_map = extractors.create_feature_map(trained, input_shape=x.shape[1:])

  def clients(
    prefix: str, parts: list[np.ndarray]
  ) -> datasets.InMemoryClientData:
    return datasets.InMemoryClientData(
      {
        f'{prefix}_{number:03d}': (x[indices], data.labels[indices])
        for number, indices in enumerate(parts)
      }
    )

  return Task(
    name=name,
    train=clients('client', partition),
    validation=clients('validation', held_out[0]),
    test=clients('test', held_out[1]),
    create_model=lambda: models.create_feature_classifier(
      feature_map, num_classes=num_classes
    ),
    feature_map=feature_map,
    metric='accuracy',
    higher_is_better=True,
    label_sampler=models.categorical_label_sampler(),
    tensor_names=models.feature_classifier_tensor_names(feature_map),
    preprocess=preprocess,
  )


def _declare_options(images: str) -> dict[str, fields.Field]:
  """Returns the options of a task, given its usual file of images."""
  return {
    'images': labelled_images.images_option(images),
    'num_clients': fields.Field(
      100,
      fields.integer(1),
      'The number of clients that training images are divided among, at least '
      'the number of classes if alpha is 0.',
    ),
    'alpha': fields.Field(
      0.0,
      fields.number(positive=False),
      "The concentration per label of clients' label proportions; 0 for "
      'clients of one class each.',
    ),
    **extractors.options(
      extractor='squeezenet',
      image_size=128,
      layers='fire2, fire2/expand, fire3 to fire9/expand of squeezenet',
      validation=fields.Field(
        0.5,
        fields.between_0_and_1,
        'The share of held-out images for validation.',
      ),
    ),
  }


TASKS = {
  'cifar10_features': options.declare(_declare_options('cifar10.npz'))(
    functools.partial(
      create_image_features_task,
      'cifar10_features',
      functools.partial(
        labelled_images.read_npz,
        num_classes=labelled_images.NUM_CIFAR10_CLASSES,
      ),
      labelled_images.NUM_CIFAR10_CLASSES,
    )
  ),
  'cifar100_features': options.declare(_declare_options('cifar100.sqlite'))(
    functools.partial(
      create_image_features_task,
      'cifar100_features',
      functools.partial(
        labelled_images.read_cifar100, task='cifar100_features'
      ),
      labelled_images.NUM_CIFAR100_CLASSES,
    )
  ),
}


def _to_float(examples: datasets.Examples) -> datasets.Examples:
  x, y = examples
  return x.astype(np.float32), y


def _divide(
  data: labelled_images.LabelledImages,
  *,
  num_clients: int,
  alpha: float,
  seed: int,
) -> list[np.ndarray]:
  """Returns the indices of each training client."""
  indices = np.flatnonzero(~data.is_test)
  if not len(indices):
    raise errors.InputError(
      'Some images must be for training, got all for testing.'
    )
  labels = data.labels[indices]
  if alpha == 0:
    partition = datasets.partition_by_shards(
      labels, num_clients=num_clients, classes_per_client=1, seed=seed
    )
  else:
    partition = datasets.partition_by_dirichlet(
      labels, num_clients=num_clients, alpha=alpha, seed=seed
    )
  return [indices[part] for part in partition]


def _divide_held_out(
  data: labelled_images.LabelledImages, validation_fraction: float, seed: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
  """Returns the indices of validation clients and of test clients."""
  stream = datasets.random_generator('held-out images', seed)
  indices = stream.permutation(np.flatnonzero(data.is_test))
  cut = round(validation_fraction * len(indices))
  divided = []
  for kind, part in (('validation', indices[:cut]), ('test', indices[cut:])):
    if len(part) < datasets.MIN_FEW_SHOT_EXAMPLES:
      raise errors.InputError(
        f'validation_fraction {validation_fraction} must leave at least '
        f'{datasets.MIN_FEW_SHOT_EXAMPLES} of {len(indices)} held-out images '
        f'for {kind}, got {len(part)}.'
      )
    num_clients = max(1, round(len(part) / _HELD_OUT_CLIENT_EXAMPLES))
    divided.append(np.array_split(part, num_clients))
  return divided[0], divided[1]

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Federated CIFAR-100: small photographs of 100 classes.

TFF's own loader (`tff.simulation.datasets.cifar100`) reads the data from its
cache, the file cifar100.sqlite in data_dir. TFF publishes 500 training and 100
test clients of 100 images each, drawn by two-level latent Dirichlet allocation
over the 20 coarse and 100 fine classes (Reddi et al. 2021, arXiv:2003.00295,
appendix F). TFF's test clients, which hold CIFAR-100's own test images, are
divided into validation and test clients.
"""

from __future__ import annotations

import functools
import math

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from tasks import class_labels
from tasks import networks
from tasks import options
from tasks import tff_files
from tasks.images import dealt_clients
from tasks.task import Task

import numpy as np

NAME = 'cifar100'
IMAGE_SHAPE = (24, 24, 3)
_FILE_NAME = 'cifar100.sqlite'

# The array of each kind of labels, and its number of classes.
_LABELS = {'fine': ('label', 100), 'coarse': ('coarse_label', 20)}

OPTIONS = {
  'model': fields.Field(
    'resnet18',
    fields.one_of('resnet18', 'compact_cnn'),
    'resnet18 (with group normalisation, 11 million weights) or compact_cnn '
    '(50,000 weights, fast on a CPU).',
  ),
  'label': fields.Field(
    'fine', fields.one_of(*_LABELS), 'fine (100 classes) or coarse (20).'
  ),
  'alpha': dealt_clients.ALPHA_OPTION,
  'validation_fraction': fields.Field(
    0.5,
    fields.below_1,
    "The share of TFF's test clients for validation; the others are for "
    'testing.',
  ),
  'cache_megabytes': options.cache_megabytes(1024, 'all clients take 400'),
  'download': tff_files.DOWNLOAD_OPTION,
}


@options.declare(OPTIONS)
def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  model: str,
  label: str,
  alpha: float | None,
  validation_fraction: float,
  cache_megabytes: int,
  download: bool,
) -> Task:
  """Creates the task; `OPTIONS` describes the options.

  The seed is that of the choice of validation clients and of initial weights.
  data_dir is the folder of cifar100.sqlite; None means TFF's cache, ~/.tff.

  Returns:
    The task: x float32 [24, 24, 3], the centre of each image with mean 0 and
    deviation 1, y int32; metric accuracy.
  """
  import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

  train, held_out = tff_files.load_tff_data(
    NAME,
    tff.simulation.datasets.cifar100.load_data,
    _FILE_NAME,
    splits=('train', 'test'),
    data_dir=data_dir,
    download=download,
  )
  # Both splits number their clients from 0, so prefixes make ids unique.
  held_out = datasets.TffClientData(held_out, prefix='test_')
  validation, test = _split_held_out(held_out, validation_fraction, seed)
  label_name, num_classes = _LABELS[label]
  train = datasets.TffClientData(train, prefix='train_')
  if alpha is not None:
    train = dealt_clients.deal_anew(
      train, label=label_name, alpha=alpha, seed=seed
    )
  if model == 'resnet18':
    create_model = networks.create_resnet18
    tensor_names = networks.RESNET18_TENSORS
  else:
    create_model = functools.partial(
      networks.create_compact_cnn, filters=(32, 32, 32)
    )
    tensor_names = networks.COMPACT_CNN_TENSORS
  return Task(
    name=NAME,
    train=train,
    validation=validation,
    test=test,
    create_model=functools.partial(
      create_model,
      input_shape=IMAGE_SHAPE,
      num_classes=num_classes,
      seed=seed,
    ),
    metric='accuracy',
    higher_is_better=True,
    label_sampler=models.categorical_label_sampler(),
    tensor_names=tensor_names,
    preprocess=functools.partial(
      _preprocess, label_name=label_name, num_classes=num_classes
    ),
    cache_bytes=cache_megabytes * 2**20,
  )


def _split_held_out(
  clients: datasets.ClientData, validation_fraction: float, seed: int
) -> tuple[datasets.ClientData, datasets.ClientData]:
  """Returns (validation, test) clients."""
  try:
    # The remaining clients, usually for training, are the test clients here.
    test, validation, _ = datasets.split_clients(
      clients,
      validation_fraction=validation_fraction,
      test_fraction=0,
      seed=seed,
    )
  except errors.InputError as error:
    raise errors.InputError(
      f"validation_fraction {validation_fraction} of TFF's "
      f'{len(clients.client_ids)} test client(s) must leave at least one for '
      'testing, got none.'
    ) from error
  return validation, test


def _preprocess(
  examples: datasets.Examples, *, label_name: str, num_classes: int
) -> datasets.Examples:
  labels = examples[label_name]
  class_labels.check_labels(label_name, labels, num_classes)
  x = standardize(crop(examples['image'], IMAGE_SHAPE[:2]))
  return x, labels.astype(np.int32)


def crop(images: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
  """Returns the centre of each image, as `tf.image.resize_with_crop_or_pad`.

  Args:
    images: The images [n, height, width, channels]; smaller ones than the
      centre are refused, not padded.
    shape: The height and width of the centre.
  """
  if images.shape[1] < shape[0] or images.shape[2] < shape[1]:
    raise errors.InputError(
      f'The images must be of at least {shape[0]}x{shape[1]}, got '
      f'{images.shape[1]}x{images.shape[2]}.'
    )
  top, left = ((images.shape[1 + i] - shape[i]) // 2 for i in range(2))
  return images[:, top : top + shape[0], left : left + shape[1]]


def standardize(images: np.ndarray) -> np.ndarray:
  """Returns each image with mean 0 and deviation 1, float32.

  As in `tf.image.per_image_standardization`, the deviation is at least
  1 / sqrt(n), where n is the number of values, so that an image of one colour
  becomes 0.

  Args:
    images: The images, numbers [n, height, width, channels].
  """
  images = images.astype(np.float32)
  axes = (1, 2, 3)
  mean = images.mean(axes, keepdims=True)
  deviation = images.std(axes, keepdims=True)
  least = 1 / math.sqrt(math.prod(images.shape[1:]))
  return (images - mean) / np.maximum(deviation, np.float32(least))

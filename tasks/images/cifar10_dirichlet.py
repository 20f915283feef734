# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""CIFAR-10 among clients by Dirichlet draws, as in FedMA's experiments.

The images are read from cifar10.npz in data_dir, the file of the task cifar10
(where each client has a few classes): all 60,000 images or a sample. VGG-9,
16 clients by Dir(0.5), drawn until each has ten images, and the channels' mean
and deviation are those of Wang et al. (2020, arXiv:2002.06440) and their code,
which also crops and mirrors images at random, as the option `augment` does. The
task scores one model of all clients on all test images, half of them for
validation and half for testing.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import functools
import typing

from fedfish_tff import datasets
from fedfish_tff import fields
from fedfish_tff import models
from tasks import networks
from tasks import options
from tasks.features import extractors
from tasks.images import labelled_images
from tasks.task import Task

import numpy as np

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff

NAME = 'cifar10_dirichlet'
_MEAN = tuple(value / 255 for value in (125.3, 123.0, 113.9))
_DEVIATION = tuple(value / 255 for value in (63.0, 62.1, 66.7))
# The filters and the hidden units of each model, as published for VGG-9 and
# LeNet.
_WIDTHS = {
  'vgg9': ((32, 64, 128, 128, 256, 256), (512, 512)),
  'lenet': ((20, 50), (500,)),
  'compact_cnn': ((16, 32, 32), ()),
}

OPTIONS = {
  'images': labelled_images.images_option('cifar10.npz'),
  'model': fields.Field(
    'vgg9',
    fields.one_of(*_WIDTHS),
    'vgg9; lenet: two convolutions of 20 and 50 filters and a hidden layer of '
    '500 units, which is many times faster; or compact_cnn '
    '(networks.create_compact_cnn), which is faster still.',
  ),
  'num_clients': fields.Field(
    16, fields.integer(1), 'The number of clients, all of which train.'
  ),
  'alpha': fields.Field(
    0.5,
    fields.number(positive=True),
    'The concentration of the Dirichlet draws of clients for each label.',
  ),
  'augment': labelled_images.AUGMENT_OPTION,
}


@options.declare(OPTIONS)
def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  images: str,
  model: str,
  num_clients: int,
  alpha: float,
  augment: bool,
) -> Task:
  """Creates the task; `OPTIONS` describes the options.

  The seed is that of the partition, the halves of the test images and the
  initial weights. data_dir is the folder of the file; None means the working
  folder.

  Returns:
    The task: x float32 [32, 32, 3], y int32; metric accuracy.
  """
  filters, hidden_units = _WIDTHS[model]
  _, tensor_names = _find_network(model)
  data = labelled_images.read_npz(
    extractors.find_file(images, data_dir),
    num_classes=labelled_images.NUM_CIFAR10_CLASSES,
  )
  (train,), (test,) = np.nonzero(~data.is_test), np.nonzero(data.is_test)
  partition = datasets.partition_labels_by_dirichlet(
    data.labels[train], num_clients=num_clients, alpha=alpha, seed=seed
  )
  test = datasets.random_generator('test images', seed).permutation(test)
  validation, test = np.array_split(test, 2)

  def clients(**parts: np.ndarray) -> datasets.ClientData:
    return datasets.InMemoryClientData(
      {
        client_id: (data.images[indices], data.labels[indices])
        for client_id, indices in parts.items()
      }
    )

  create_model = functools.partial(_create_model, model, data.images.shape[1:])
  if augment:
    create_model = labelled_images.augment(create_model, _MEAN, _DEVIATION)
  return Task(
    name=NAME,
    train=clients(
      **{
        f'client_{number:04d}': train[part]
        for number, part in enumerate(partition)
      }
    ),
    validation=clients(validation_images=np.sort(validation)),
    test=clients(test_images=np.sort(test)),
    create_model=functools.partial(create_model, filters + hidden_units, seed),
    create_sized_model=create_model,
    tensor_names=tensor_names,
    metric='accuracy',
    higher_is_better=True,
    label_sampler=models.categorical_label_sampler(),
    preprocess=labelled_images.standardization(_MEAN, _DEVIATION),
  )


def _create_model(
  name: str, input_shape: Sequence[int], widths: Sequence[int], seed: int
) -> tff.learning.models.FunctionalModel:
  filters, hidden_units = map(len, _WIDTHS[name])
  create, _ = _find_network(name)
  return create(
    input_shape=input_shape,
    num_classes=labelled_images.NUM_CIFAR10_CLASSES,
    seed=seed,
    filters=widths[:filters],
    **({'hidden_units': widths[filters:]} if hidden_units else {}),
  )


def _find_network(
  name: str,
) -> tuple[Callable[..., tff.learning.models.FunctionalModel], tuple[str, ...]]:
  """Returns the function that creates a network, and its tensors' names."""
  return {
    'vgg9': (networks.create_vgg9, networks.VGG9_TENSORS),
    'lenet': (networks.create_lenet5, networks.LENET_TENSORS),
    'compact_cnn': (networks.create_compact_cnn, networks.COMPACT_CNN_TENSORS),
  }[name]

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""CIFAR-10 and CIFAR-100 among clients of a few classes, as in SRPFL.

The images are read from a file in data_dir: cifar10.npz or another .npz file
with the arrays images (uint8 [n, 32, 32, 3]), labels (integers [n]) and is_test
([n]), all images or a sample; or TFF's cifar100.sqlite. LeNet-5 (wider and with
dropout for CIFAR-100), 100 clients of 5 or 20 classes, and the channels' mean
and deviation are those of Tziotis et al. (2022, arXiv:2206.02078) and their
code, which also crops and mirrors images at random, as the option `augment`
does. `class_shards` divides the images. (The task cifar100 has the clients that
TFF publishes.)
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import functools
import pathlib
from typing import Any

from fedfish_tff import fields
from tasks import networks
from tasks import options
from tasks.features import extractors
from tasks.images import class_shards
from tasks.images import labelled_images
from tasks.task import Task

IMAGE_SHAPE = (32, 32, 3)
# LeNet-5 with the widths of 1998.
_CLASSIC_MODEL = {'filters': (6, 16), 'hidden_units': (120, 84)}


def create_cifar_task(
  name: str,
  read_images: Callable[[pathlib.Path], labelled_images.LabelledImages],
  published_model: Mapping[str, Any],
  num_classes: int,
  mean: Sequence[float],
  deviation: Sequence[float],
  *,
  seed: int,
  data_dir: str | None = None,
  images: str,
  model: str,
  num_clients: int,
  num_held_out: int,
  classes_per_client: int,
  max_images: int,
  augment: bool,
) -> Task:
  """Creates a task; `_declare_options` describes the options.

  The first arguments are the task's name, the function that reads a file of
  images, the arguments of `networks.create_lenet5` for the model lenet5, the
  number of classes, and the means and standard deviations of the three channels
  for values in [0, 1]. The seed is that of the division and of initial weights.
  data_dir is the folder of the file; None means the working folder.

  Returns:
    The task: x float32 [32, 32, 3], y int32; metric accuracy.
  """
  create_model, tensor_names = {
    'lenet5': (
      functools.partial(networks.create_lenet5, **published_model),
      networks.LENET5_TENSORS,
    ),
    'classic_lenet5': (
      functools.partial(networks.create_lenet5, **_CLASSIC_MODEL),
      networks.LENET5_TENSORS,
    ),
    'compact_cnn': (networks.create_compact_cnn, networks.COMPACT_CNN_TENSORS),
  }[model]
  if augment:
    create_model = labelled_images.augment(create_model, mean, deviation)
  data = read_images(extractors.find_file(images, data_dir))
  return class_shards.create_class_shards_task(
    name,
    data,
    seed=seed,
    num_clients=num_clients,
    num_held_out=num_held_out,
    classes_per_client=classes_per_client,
    max_images=max_images,
    create_model=functools.partial(
      create_model,
      input_shape=IMAGE_SHAPE,
      num_classes=num_classes,
      seed=seed,
    ),
    tensor_names=tensor_names,
    preprocess=labelled_images.standardization(mean, deviation),
  )


def _declare_options(
  images: str, classes_per_client: int
) -> dict[str, fields.Field]:
  """Returns the options of a task, given the defaults that differ."""
  return {
    'images': labelled_images.images_option(images),
    'model': fields.Field(
      'lenet5',
      fields.one_of('lenet5', 'classic_lenet5', 'compact_cnn'),
      'lenet5 as published; classic_lenet5 with the widths of LeCun et al. '
      '(1998), which is many times faster; or compact_cnn '
      '(networks.create_compact_cnn), which is faster still.',
    ),
    **class_shards.options(
      num_clients=100, num_held_out=20, classes_per_client=classes_per_client
    ),
    'augment': labelled_images.AUGMENT_OPTION,
  }


TASKS = {
  'cifar10': options.declare(
    _declare_options('cifar10.npz', classes_per_client=5)
  )(
    functools.partial(
      create_cifar_task,
      'cifar10',
      functools.partial(
        labelled_images.read_npz,
        num_classes=labelled_images.NUM_CIFAR10_CLASSES,
      ),
      {},
      labelled_images.NUM_CIFAR10_CLASSES,
      (0.485, 0.456, 0.406),
      (0.229, 0.224, 0.225),
    )
  ),
  'cifar100_shards': options.declare(
    _declare_options('cifar100.sqlite', classes_per_client=20)
  )(
    functools.partial(
      create_cifar_task,
      'cifar100_shards',
      functools.partial(labelled_images.read_cifar100, task='cifar100_shards'),
      {'filters': (64, 128), 'hidden_units': (256, 128), 'dropout': 0.6},
      labelled_images.NUM_CIFAR100_CLASSES,
      (0.507, 0.487, 0.441),
      (0.267, 0.256, 0.276),
    )
  ),
}

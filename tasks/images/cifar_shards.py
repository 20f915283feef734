# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What CIFAR-10 and CIFAR-100 share among clients of a few classes.

See `class_shards`.
"""

from collections.abc import Callable
from collections.abc import Sequence
import functools
import pathlib

from fedfish_tff import models
from tasks import checks
from tasks.features import extractors
from tasks.images import class_shards
from tasks.images import labelled_images
from tasks.task import Task

import tensorflow_federated as tff

IMAGE_SHAPE = (32, 32, 3)


def create_cifar_task(
  name: str,
  read_images: Callable[[pathlib.Path], labelled_images.LabelledImages],
  published_model: Callable[..., tff.learning.models.FunctionalModel],
  num_classes: int,
  mean: Sequence[float],
  deviation: Sequence[float],
  *,
  seed: int,
  data_dir: str | None = None,
  images: str,
  model: str = 'lenet5',
  num_clients: int = 100,
  num_held_out: int = 20,
  classes_per_client: int,
  augment: bool = False,
) -> Task:
  """Creates a task.

  Args:
    name: The task's name.
    read_images: Reads a file of images.
    published_model: Makes the model `lenet5` of its shape, number of classes
      and seed.
    num_classes: Number of classes.
    mean: Of the three channels' values between 0 and 1, which becomes 0.
    deviation: Of the same, which becomes 1.
    seed: Decides the division and initial weights.
    data_dir: Folder of the file; None for the working folder.
    images: The file in `data_dir`.
    model: lenet5 as published, or classic_lenet5 with the widths of LeCun et al.
      (1998), which is many times as fast.
    num_clients: Clients that train.
    num_held_out: Clients that never train, half of them for validation.
    classes_per_client: Classes of each client.
    augment: Whether training crops images, padded by 4 black pixels, and mirrors
      them at random, as the published code does.

  Returns:
    The task: x float32 [32, 32, 3], y int32; metric accuracy.

  Raises:
    errors.InputError: If an option is out of range or the data cannot be used.
  """
  checks.check_choice('model', model, ('lenet5', 'classic_lenet5'))
  create_model = published_model
  if model == 'classic_lenet5':
    create_model = functools.partial(
      models.create_lenet5, filters=(6, 16), hidden_units=(120, 84)
    )
  checks.check_boolean('augment', augment)
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
    create_model=functools.partial(
      create_model,
      input_shape=IMAGE_SHAPE,
      num_classes=num_classes,
      seed=seed,
    ),
    tensor_names=models.LENET5_TENSORS,
    preprocess=labelled_images.standardization(mean, deviation),
  )

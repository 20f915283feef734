# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Common parts of tasks with a few classes per client, also for testing.

The division is that of experiments on personalised models (Collins et al.,
2021; Tziotis et al., 2022). All images are divided into shards of one class;
each client gets shards of a given number of classes, and test images of the
same classes in the same proportions. No two clients share an image.
"""

from __future__ import annotations

from collections.abc import Callable
import typing

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from tasks.images import labelled_images
from tasks.task import Task

import numpy as np

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff


def options(
  *, num_clients: int, num_held_out: int, classes_per_client: int
) -> dict[str, fields.Field]:
  """Returns the options that all of these tasks have, given their defaults."""
  return {
    'num_clients': fields.Field(
      num_clients, fields.integer(1), 'The number of training clients.'
    ),
    'num_held_out': fields.Field(
      num_held_out,
      fields.integer(2),
      'The number of held-out clients, half of them for validation.',
    ),
    'classes_per_client': fields.Field(
      classes_per_client,
      fields.integer(1),
      'The number of classes of each client.',
    ),
    'max_images': fields.Field(
      0,
      fields.integer(0),
      'The largest number of training images of all clients together, held-out '
      'ones included, drawn by the seed; 0 for all.',
    ),
  }


def create_class_shards_task(
  name: str,
  images: labelled_images.LabelledImages,
  *,
  seed: int,
  num_clients: int,
  num_held_out: int,
  classes_per_client: int,
  max_images: int,
  create_model: Callable[[], tff.learning.models.FunctionalModel],
  tensor_names: tuple[str, ...],
  preprocess: Callable[[datasets.Examples], datasets.Examples] | None = None,
) -> Task:
  """Creates a task.

  Args:
    name: The name in the registry.
    images: The images to divide, enough for all clients.
    seed: The seed of the division, and of the images that are left out.
    num_clients: The number of training clients.
    num_held_out: The number of held-out clients, half of them for validation.
    classes_per_client: The number of classes of each client, at most all.
    max_images: The largest number of training images; 0 for all.
    create_model: A function that returns a new model.
    tensor_names: The names of the model's trainable tensors.
    preprocess: A function that is applied to a client's arrays (x, y).

  Returns:
    The task; `own_test` holds the test images of all clients, held-out ones
    included.
  """
  (train,), (test,) = np.nonzero(~images.is_test), np.nonzero(images.is_test)
  if max_images:
    stream = datasets.random_generator(f'images of {name}', seed)
    train = np.sort(stream.permutation(train)[:max_images])
  num_all = num_clients + num_held_out
  partition = datasets.partition_by_shards(
    images.labels[train],
    num_clients=num_all,
    classes_per_client=classes_per_client,
    seed=seed,
  )
  test_partition = datasets.partition_alike(
    images.labels[test], images.labels[train], partition, seed=seed
  )
  ids = [f'client_{number:04d}' for number in range(num_all)]
  own_test = {
    client_id: (images.images[indices], images.labels[indices])
    for client_id, part in zip(ids, test_partition, strict=True)
    if len(indices := test[part])
  }
  if not own_test:
    raise errors.InputError(
      f'Task {name!r} must have test images of the classes that clients have, '
      'got none.'
    )
  # Shards are dealt at random, so the last clients can be the held-out ones.
  bounds = [0, num_clients, num_clients + num_held_out // 2, num_all]
  splits = [
    datasets.InMemoryClientData(
      {
        ids[i]: (
          images.images[train[partition[i]]],
          images.labels[train[partition[i]]],
        )
        for i in range(start, stop)
      }
    )
    for start, stop in zip(bounds, bounds[1:])
  ]
  return Task(
    name=name,
    train=splits[0],
    validation=splits[1],
    test=splits[2],
    own_test=datasets.InMemoryClientData(own_test),
    create_model=create_model,
    tensor_names=tensor_names,
    metric='accuracy',
    higher_is_better=True,
    label_sampler=models.categorical_label_sampler(),
    preprocess=preprocess,
  )

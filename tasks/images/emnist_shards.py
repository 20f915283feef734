# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Handwritten characters of EMNIST among clients of a few of ten classes.

TFF's own loader reads the data from its cache, the file emnist_all.sqlite in
data_dir. (In the task emnist, each client is a writer.) The ten classes are
those of the experiments of Tziotis et al. (2022, arXiv:2206.02078): the digits,
the first ten classes of EMNIST, with 5 per client; or the letters a to j, which
the experiments of FedRep (Collins et al., 2021) and SRPFL call FEMNIST, with 3
per client.
"""

from collections.abc import Mapping
import functools

from fedfish_tff import datasets
from fedfish_tff import models
from tasks import checks
from tasks import tff_files
from tasks.images import class_shards
from tasks.images import labelled_images
from tasks.task import Task

import numpy as np
import tensorflow_federated as tff

NAME = 'emnist_shards'
NUM_CLASSES = 10
# The first label of each choice, among 10 digits, 26 upper case letters and 26
# lower case ones.
_FIRST: Mapping[str, int] = {'digits': 0, 'letters': 36}
_NUM_FEATURES = 784


def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  characters: str = 'digits',
  num_clients: int = 100,
  num_held_out: int = 20,
  classes_per_client: int = 5,
  max_images: int = 0,
  hidden_units: tuple[int, ...] = (512, 256, 64),
  download: bool = False,
) -> Task:
  """Creates the task.

  Args:
    seed: The seed of the division and of initial weights.
    data_dir: The folder of emnist_all.sqlite; None for TFF's cache, ~/.tff.
    characters: digits, or letters for the lower case letters a to j.
    num_clients: The number of training clients.
    num_held_out: The number of held-out clients, half of them for validation.
    classes_per_client: The number of classes of each client.
    max_images: The largest number of training images of all clients together,
      drawn by the seed; 0 for all.
    hidden_units: The widths of the perceptron's hidden layers (relu); the
      default is that of the published code.
    download: Whether to download a missing file.

  Returns:
    The task: x float32 [784] in [0, 1] with a background of 1, y int32; metric
    accuracy.

  Raises:
    errors.InputError: If an option is out of range or the data cannot be used.
  """
  checks.check_choice('characters', characters, _FIRST)
  checks.check_integer('max_images', max_images, 0)
  parts = tff_files.load_tff_data(
    NAME,
    functools.partial(tff.simulation.datasets.emnist.load_data, False),
    'emnist_all.sqlite',
    splits=('all_train', 'all_test'),
    data_dir=data_dir,
    download=download,
  )
  images, labels, is_test = [], [], []
  for part, of_test in zip(parts, (False, True), strict=True):
    writers = datasets.TffClientData(part)
    for writer in writers.client_ids:
      examples = writers.load_client(writer)
      label = examples['label'] - _FIRST[characters]
      kept = (label >= 0) & (label < NUM_CLASSES)
      images.append(examples['pixels'][kept].reshape(-1, _NUM_FEATURES))
      labels.append(label[kept].astype(np.int32))
      is_test.append(np.full(kept.sum(), of_test))
  images, labels, is_test = map(np.concatenate, (images, labels, is_test))
  if max_images:
    stream = datasets.random_generator('images of emnist_shards', seed)
    order = stream.permutation(np.flatnonzero(~is_test))
    kept = np.sort(np.append(order[:max_images], np.flatnonzero(is_test)))
    images, labels, is_test = images[kept], labels[kept], is_test[kept]
  checks.check_sequence('hidden_units', hidden_units)
  hidden_units = tuple(hidden_units)
  return class_shards.create_class_shards_task(
    NAME,
    labelled_images.LabelledImages(
      images=images, labels=labels, is_test=is_test
    ),
    seed=seed,
    num_clients=num_clients,
    num_held_out=num_held_out,
    classes_per_client=classes_per_client,
    create_model=functools.partial(
      models.create_mlp_classifier,
      num_features=_NUM_FEATURES,
      num_classes=NUM_CLASSES,
      hidden_units=hidden_units,
      seed=seed,
    ),
    tensor_names=models.mlp_tensor_names(len(hidden_units)),
  )

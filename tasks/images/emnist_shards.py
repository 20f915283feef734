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

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import functools

from fedfish_tff import datasets
from fedfish_tff import fields
from fedfish_tff import models
from tasks import options
from tasks import tff_files
from tasks.images import class_shards
from tasks.images import labelled_images
from tasks.task import Task

import numpy as np

NAME = 'emnist_shards'
NUM_CLASSES = 10
# The first label of each choice, among 10 digits, 26 upper case letters and 26
# lower case ones.
_FIRST: Mapping[str, int] = {'digits': 0, 'letters': 36}
_NUM_FEATURES = 784

OPTIONS = {
  'characters': fields.Field(
    'digits',
    fields.one_of(*_FIRST),
    'digits, or letters for the lower case letters a to j.',
  ),
  **class_shards.options(
    num_clients=100, num_held_out=20, classes_per_client=5
  ),
  'hidden_units': fields.Field(
    (512, 256, 64),
    fields.sizes,
    "The widths of the perceptron's hidden layers (relu); the default is that "
    'of the published code.',
  ),
  'download': tff_files.DOWNLOAD_OPTION,
}


@options.declare(OPTIONS)
def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  characters: str,
  num_clients: int,
  num_held_out: int,
  classes_per_client: int,
  max_images: int,
  hidden_units: Sequence[int],
  download: bool,
) -> Task:
  """Creates the task; `OPTIONS` describes the options.

  The seed is that of the division and of initial weights. data_dir is the
  folder of emnist_all.sqlite; None means TFF's cache, ~/.tff.

  Returns:
    The task: x float32 [784] in [0, 1] with a background of 1, y int32; metric
    accuracy.
  """
  import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

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
    max_images=max_images,
    create_model=functools.partial(
      models.create_mlp_classifier,
      num_features=_NUM_FEATURES,
      num_classes=NUM_CLASSES,
      hidden_units=hidden_units,
      seed=seed,
    ),
    tensor_names=models.mlp_tensor_names(len(hidden_units)),
  )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scikit-learn's handwritten digits, among clients of a few digits each.

The data are the 1,797 images of 8x8 pixels in scikit-learn. See `class_shards`.
"""

from collections.abc import Sequence
import functools

from fedfish_tff import datasets
from fedfish_tff import models
from tasks import checks
from tasks.images import class_shards
from tasks.images import digits
from tasks.images import labelled_images
from tasks.task import Task

import numpy as np
from sklearn import datasets as sklearn_datasets

NAME = 'digits_shards'
_TEST_SHARE = 1 / 3


def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  num_clients: int = 64,
  num_held_out: int = 16,
  classes_per_client: int = 3,
  hidden_units: Sequence[int] = (32,),
) -> Task:
  """Creates the task.

  Args:
    seed: The seed of the division, the third of the images for testing, and
      the initial weights.
    data_dir: None, because the data is embedded.
    num_clients: The number of training clients.
    num_held_out: The number of held-out clients, half of them for validation.
    classes_per_client: The number of digits of each client.
    hidden_units: The widths of the model's hidden layers (relu).

  Returns:
    The task: x float32 [64] in [0, 1], y int32; metric accuracy.

  Raises:
    errors.InputError: If an option is out of range.
  """
  checks.check_no_data_dir(NAME, data_dir)
  checks.check_sequence('hidden_units', hidden_units)
  hidden_units = tuple(hidden_units)
  x, y = sklearn_datasets.load_digits(return_X_y=True)
  stream = datasets.random_generator('digits for testing', seed)
  return class_shards.create_class_shards_task(
    NAME,
    labelled_images.LabelledImages(
      # A pixel counts the ink in a 4x4 block, from 0 to 16.
      images=(x / 16).astype(np.float32),
      labels=y.astype(np.int32),
      is_test=stream.permutation(len(y)) < _TEST_SHARE * len(y),
    ),
    seed=seed,
    num_clients=num_clients,
    num_held_out=num_held_out,
    classes_per_client=classes_per_client,
    create_model=functools.partial(
      models.create_mlp_classifier,
      num_features=digits.NUM_FEATURES,
      num_classes=digits.NUM_CLASSES,
      hidden_units=hidden_units,
      seed=seed,
    ),
    tensor_names=models.mlp_tensor_names(len(hidden_units)),
  )

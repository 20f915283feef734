# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scikit-learn's handwritten digits, among clients of a few digits each.

The data are the 1,797 images of 8x8 pixels in scikit-learn, divided by
`class_shards`.
"""

from __future__ import annotations

from collections.abc import Sequence
import functools

from fedfish_tff import datasets
from fedfish_tff import fields
from fedfish_tff import models
from tasks import options
from tasks.images import class_shards
from tasks.images import digits
from tasks.images import labelled_images
from tasks.task import Task

NAME = 'digits_shards'
_TEST_SHARE = 1 / 3

OPTIONS = {
  **class_shards.options(num_clients=64, num_held_out=16, classes_per_client=3),
  'hidden_units': fields.Field(
    (32,), fields.sizes, "The widths of the model's hidden layers (relu)."
  ),
}


@options.declare(OPTIONS)
def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  num_clients: int,
  num_held_out: int,
  classes_per_client: int,
  max_images: int,
  hidden_units: Sequence[int],
) -> Task:
  """Creates the task; `OPTIONS` describes the options.

  The seed is that of the division, the third of the images for testing, and the
  initial weights. data_dir must be None, because the data is embedded.

  Returns:
    The task: x float32 [64] in [0, 1], y int32; metric accuracy.
  """
  options.check_no_data_dir(NAME, data_dir)
  hidden_units = tuple(hidden_units)
  x, y = digits.load_images()
  stream = datasets.random_generator('digits for testing', seed)
  return class_shards.create_class_shards_task(
    NAME,
    labelled_images.LabelledImages(
      images=x,
      labels=y,
      is_test=stream.permutation(len(y)) < _TEST_SHARE * len(y),
    ),
    seed=seed,
    num_clients=num_clients,
    num_held_out=num_held_out,
    classes_per_client=classes_per_client,
    max_images=max_images,
    create_model=functools.partial(
      models.create_mlp_classifier,
      num_features=digits.NUM_FEATURES,
      num_classes=digits.NUM_CLASSES,
      hidden_units=hidden_units,
      seed=seed,
    ),
    tensor_names=models.mlp_tensor_names(len(hidden_units)),
  )

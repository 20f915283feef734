# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Handwritten digits, divided among clients with different label proportions.

The data are the 1,797 real images of 8x8 pixels in scikit-learn (from the
Optical Recognition of Handwritten Digits data of Alpaydin and Kaynak, 1998);
nothing is downloaded. A perceptron classifies them.
"""

from __future__ import annotations

from collections.abc import Sequence
import functools
import typing

from fedfish_tff import datasets
from fedfish_tff import fields
from fedfish_tff import models
from tasks import options
from tasks.task import Task

import numpy as np

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff

NAME = 'digits'
NUM_CLASSES = 10
NUM_FEATURES = 64

OPTIONS = {
  'num_clients': fields.Field(
    40,
    fields.integer(1),
    'The number of clients, held-out ones included; at most 224, so that each '
    'has at least 8 images.',
  ),
  'alpha': fields.Field(
    0.1,
    fields.number(positive=True),
    "The concentration per label of the clients' label proportions: at 0.1 "
    'most clients have 2 to 5 of the 10 digits, at 100 all are alike.',
  ),
  'hidden_units': fields.Field(
    (64,), fields.sizes, "The widths of the model's hidden layers (relu)."
  ),
  'validation_fraction': fields.Field(
    0.2, fields.below_1, 'The share of clients held out for validation.'
  ),
  'test_fraction': fields.Field(
    0.2, fields.below_1, 'The share of clients held out for testing.'
  ),
}


@options.declare(OPTIONS)
def create_task(
  *,
  seed: int,
  data_dir: str | None = None,
  num_clients: int,
  alpha: float,
  hidden_units: Sequence[int],
  validation_fraction: float,
  test_fraction: float,
) -> Task:
  """Creates the task; `OPTIONS` describes the options.

  The seed is that of the partition, the held-out clients and initial weights.
  data_dir must be None, because the data is embedded.

  Returns:
    The task: x float32 [64] in [0, 1], y int32; metric accuracy.
  """
  options.check_no_data_dir(NAME, data_dir)
  hidden_units = tuple(hidden_units)
  images, labels = load_images()
  partition = datasets.partition_by_dirichlet(
    labels,
    num_clients=num_clients,
    alpha=alpha,
    seed=seed,
    # The examples of a held-out client are divided into halves, each large
    # enough to be divided again for few-shot personalisation.
    min_examples=2 * datasets.MIN_FEW_SHOT_EXAMPLES,
  )
  clients = {
    f'client_{number:03d}': (images[indices], labels[indices])
    for number, indices in enumerate(partition)
  }
  train, validation, test = datasets.split_clients(
    datasets.InMemoryClientData(clients),
    validation_fraction=validation_fraction,
    test_fraction=test_fraction,
    seed=seed,
  )
  return Task(
    name=NAME,
    train=train,
    validation=validation,
    test=test,
    create_model=functools.partial(_create_model, hidden_units, seed),
    create_sized_model=_create_model,
    # The model's own layers below the last, with their initial weights.
    feature_map=(
      models.create_dense_features(
        num_inputs=NUM_FEATURES, hidden_units=hidden_units, seed=seed
      )
      if hidden_units
      else models.create_identity_features(NUM_FEATURES)
    ),
    metric='accuracy',
    higher_is_better=True,
    label_sampler=models.categorical_label_sampler(),
    tensor_names=models.mlp_tensor_names(len(hidden_units)),
  )


def load_images() -> tuple[np.ndarray, np.ndarray]:
  """Returns all images, float32 [n, 64] in [0, 1], and labels, int32 [n]."""
  # It takes a second to import.
  from sklearn import datasets as sklearn_datasets  # pylint: disable=g-import-not-at-top

  images, labels = sklearn_datasets.load_digits(return_X_y=True)
  # A pixel counts the ink in a 4x4 block, from 0 to 16.
  return (images / 16).astype(np.float32), labels.astype(np.int32)


def _create_model(
  hidden_units: Sequence[int], seed: int
) -> tff.learning.models.FunctionalModel:
  return models.create_mlp_classifier(
    num_features=NUM_FEATURES,
    num_classes=NUM_CLASSES,
    hidden_units=hidden_units,
    seed=seed,
  )

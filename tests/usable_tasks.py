# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks that the parts of a task fit together."""

from typing import Any

from fedfish_tff import datasets
from tasks import task as task_lib
from tests import named_tensors

import numpy as np
import tensorflow_federated as tff


def load_clients(*splits: datasets.ClientData) -> dict[str, Any]:
  """Returns the examples of all clients of some splits."""
  return {c: data.load_client(c) for data in splits for c in data.client_ids}


def pool(*splits: datasets.ClientData) -> tuple[np.ndarray, ...]:
  """Returns the examples of all clients of some splits as one client's."""
  clients = load_clients(*splits).values()
  return tuple(map(np.concatenate, zip(*clients)))


def check(task: task_lib.Task) -> tff.learning.models.FunctionalModel:
  """Asserts that a task can be trained and evaluated; returns its model.

  Its tensors have names, its metric is one of the model's, and the examples of
  a client of each split have the model's types and a finite loss. Where it
  samples labels, they are like the client's.

  Args:
    task: The task.
  """
  model = task.create_model()
  named_tensors.assert_named(task.tensor_names, model.initial_weights[0])
  metrics = model.finalize_metrics(model.initialize_metrics_state())
  assert task.metric in metrics, (task.metric, [*metrics])
  assert task.higher_is_better == (task.metric != 'mse'), task.metric
  for data in (task.train, task.validation, task.test):
    batches = datasets.sequential_batches(
      data.load_client(data.client_ids[0]), client_id='c', batch_size=5
    )
    assert batches.to_dataset().element_spec == model.input_spec
    x, y = next(iter(batches))
    output = model.predict_on_batch(model.initial_weights, x, training=False)
    assert np.isfinite(model.loss(output, y))
    if task.label_sampler:
      labels = task.label_sampler(output, y, seed=[1, 2])
      assert (labels.shape, labels.dtype) == (y.shape, y.dtype)
  return model

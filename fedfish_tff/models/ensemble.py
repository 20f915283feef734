# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Several networks as one model, which predicts their mean probabilities."""

from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from fedfish_tff.models import autograph
from fedfish_tff.models import supervised

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def create_ensemble(
  model: tff.learning.models.FunctionalModel,
  members: Sequence[Sequence[np.ndarray]],
) -> tff.learning.models.FunctionalModel:
  """Creates the ensemble of networks of one classifier.

  Args:
    model: A classifier that outputs logits.
    members: The classifier's trainable weights in each network, at least one.

  Returns:
    A model with the metrics of `model`. It outputs logits, the logarithm of the
    members' mean probabilities. Its trainable weights are those of all members,
    one after the other.
  """
  if not members:
    raise errors.InputError(
      'members must be the weights of one network or more, got none.'
    )
  trainable, non_trainable = model.initial_weights
  num_tensors = len(trainable)

  @autograph.graph_function
  def predict_on_batch(
    model_weights: Any, x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    tensors, other = model_weights
    logs = [
      tf.nn.log_softmax(
        model.predict_on_batch(
          (tuple(tensors[first : first + num_tensors]), other), x, training
        )
      )
      for first in range(0, len(tensors), num_tensors)
    ]
    return tf.reduce_logsumexp(tf.stack(logs), axis=0) - np.log(len(members))

  return supervised.replace_pass(
    model,
    predict_on_batch,
    (
      tuple(tensor for member in members for tensor in member),
      non_trainable,
    ),
  )

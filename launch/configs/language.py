# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Common parts of the configs of language models: sizes and evaluation."""

from collections.abc import Mapping
from typing import Any

from launch.configs import base

# Values of the axis size.
TINY: Mapping[str, Any] = {
  'task.model': 'transformer',
  'task.size': 'tiny',
  'task.sequence_length': 64,
  'task.eval_sequence_length': 64,
  'rounds': 100,
  'cohort_size': 8,
  'client_learning_rate': 0.05,
  'evaluate_every': 10,
  'checkpoint_every': 20,
}
RESULTS: Mapping[str, Any] = {
  **TINY,
  **base.FEW_ROUNDS,
  'task.sequence_length': 128,
  'task.eval_sequence_length': 128,
}


def evaluation_fields() -> dict[str, Any]:
  """Returns the fields of `evaluation` of all language models."""
  # launch.evaluate --targets also scores the half-way model, as in the paper.
  return {'personalization_epochs': 4, 'half_way_checkpoint': True}

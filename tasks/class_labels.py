# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of labels, shared by the tasks of classification."""

from fedfish_tff import errors

import numpy as np


def check_labels(name: str, labels: np.ndarray, num_classes: int) -> None:
  """Raises an InputError if labels are outside 0 to num_classes - 1.

  Args:
    name: The name of the array, for the error message.
    labels: The labels, numbers [n].
    num_classes: The number of classes, at least 1.
  """
  # The condition is negated so that NaN counts as outside.
  outside = labels[~((labels >= 0) & (labels < num_classes))]
  if outside.size:
    raise errors.InputError(
      f'array {name!r} must hold labels of 0 to {num_classes - 1}, got '
      f'{outside.size} label(s) such as {outside[0]}.'
    )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of options and labels, shared by the tasks."""

from collections.abc import Collection
from typing import Any

from fedfish_tff import errors

import numpy as np


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
  """Raises an InputError if the option `name` is not one of `choices`."""
  if not isinstance(value, str) or value not in choices:
    raise errors.InputError(
      f'{name} must be one of {", ".join(choices)}, got {value!r}.'
    )


def check_integer(name: str, value: Any, least: int) -> None:
  """Raises an InputError unless the option is an int32 of at least `least`."""
  is_integer = isinstance(value, (int, np.integer))
  if not is_integer or isinstance(value, bool) or value < least:
    raise errors.InputError(
      f'{name} must be an integer of at least {least}, got {value!r}.'
    )
  if value >= 2**31:
    raise errors.InputError(
      f'{name} must be an integer of at most {2**31 - 1}, got {value!r}.'
    )


def check_sequence(name: str, value: Any) -> None:
  """Raises an InputError unless the option is a sequence of values."""
  if not isinstance(value, (list, tuple)):
    raise errors.InputError(
      f'{name} must be a sequence of values, got {value!r}.'
    )


def check_boolean(name: str, value: Any) -> None:
  """Raises an InputError if the option is neither True nor False."""
  if not isinstance(value, (bool, np.bool_)):
    raise errors.InputError(f'{name} must be True or False, got {value!r}.')


def check_positive(name: str, value: Any) -> None:
  """Raises an InputError unless the option is a positive, finite number."""
  if not _is_number(value) or not 0 < value < np.inf:
    raise errors.InputError(f'{name} must be a positive number, got {value!r}.')


def check_share(name: str, value: Any, *, with_one: bool = False) -> None:
  """Raises an InputError unless the option is a share of a whole.

  Args:
    name: The name of the option.
    value: The value, which must be a number from 0 to 1.
    with_one: Whether it may be 1.
  """
  if not _is_number(value) or not (0 <= value < 1 or with_one and value == 1):
    raise errors.InputError(
      f'{name} must be a share in [0, 1{"]" if with_one else ")"}, got '
      f'{value!r}.'
    )


def check_no_data_dir(task_name: str, data_dir: str | None) -> None:
  """Raises an InputError if data_dir is set for a task that reads no files."""
  if data_dir is not None:
    raise errors.InputError(
      f'data_dir must be None for task {task_name!r}, which reads no files, got '
      f'{data_dir!r}.'
    )


def check_labels(name: str, labels: np.ndarray, num_classes: int) -> None:
  """Raises an InputError if labels are outside 0 to num_classes - 1.

  Args:
    name: The name of the array, for the error message.
    labels: The labels, numbers [n].
    num_classes: The number of classes.
  """
  # The condition is negated so that NaN counts as outside.
  outside = labels[~((labels >= 0) & (labels < num_classes))]
  if outside.size:
    raise errors.InputError(
      f'array {name!r} must hold labels of 0 to {num_classes - 1}, got '
      f'{outside.size} label(s) such as {outside[0]}.'
    )


def _is_number(value: Any) -> bool:
  return isinstance(value, (int, float, np.integer, np.floating)) and not (
    isinstance(value, bool)
  )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Comparison of tensors that another processor may round otherwise.

Which instructions a library chooses decides in which order it adds, and thus
the last bits. The error of a small element has the size of the largest terms
that went into it, so a tolerance is relative to a tensor's largest value, never
to each element, and says what it comes from. Bits are compared only between
runs on one machine in one setting.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

_EPSILON = 2.0**-23  # Of float32: twice the error of one rounding.

# One operation or two on float32 numbers: fused or not, a function of the
# processor's own, stored after float64.
FLOAT32 = 8 * _EPSILON
# Sums of up to some hundred products in another order, a few layers deep: a
# prediction, a gradient, a mean.
FLOAT32_SUMS = 64 * _EPSILON
# Steps of training, or dozens of layers: the rounding of one goes into the next.
FLOAT32_STEPS = 1024 * _EPSILON


def assert_close(
  actual: npt.ArrayLike,
  expected: npt.ArrayLike,
  *,
  relative: float = FLOAT32_SUMS,
  scale: float | None = None,
  err_msg: str = '',
) -> None:
  """Asserts max |actual - expected| <= relative * scale.

  Args:
    actual: A tensor. A nest is compared tensor by tensor, by its test.
    expected: What it should be, of the same shape.
    relative: One of the constants above, or a bound with its reason.
    scale: Size of the terms where they cancel and the expected values are
      smaller or zero; without it the largest finite |expected|.
    err_msg: Says which tensor it was.
  """
  if scale is None:
    values = np.abs(np.asarray(expected))
    scale = np.max(values, initial=0, where=np.isfinite(values))
  np.testing.assert_allclose(
    actual, expected, rtol=0, atol=relative * scale, err_msg=err_msg
  )


def assert_all_close(
  actual: Iterable[npt.ArrayLike],
  expected: Iterable[npt.ArrayLike],
  *,
  relative: float = FLOAT32_SUMS,
  least_scale: float = 0.0,
) -> None:
  """Asserts `assert_close` for each of as many tensors.

  Args:
    actual: The tensors.
    expected: What they should be.
    relative: One of the constants above, or a bound with its reason.
    least_scale: A size of the terms that is added to the largest expected
      value, where terms cancel.
  """
  for a, e in zip(actual, expected, strict=True):
    scale = least_scale + np.max(np.abs(e)) if least_scale else None
    assert_close(a, e, relative=relative, scale=scale)


def assert_same(one: Any, other: Any) -> None:
  """Asserts that two nests of tensors have the same values, all of them."""
  for a, b in zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True):
    np.testing.assert_array_equal(a, b)

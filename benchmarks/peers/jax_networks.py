# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The networks of `benchmarks.rounds` in JAX, without this package."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

Weights = Sequence[jax.Array]


def _convolve(x: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
  x = jax.lax.conv_general_dilated(
    x, kernel, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')
  )
  window = (1, 2, 2, 1)
  return jax.lax.reduce_window(
    jax.nn.relu(x + bias), -jnp.inf, jax.lax.max, window, window, 'SAME'
  )


def loss(weights: Weights, x: jax.Array, y: jax.Array) -> jax.Array:
  """Returns the mean cross-entropy of a batch."""
  *hidden, (last, last_bias) = zip(weights[::2], weights[1::2])
  for kernel, bias in hidden:
    if kernel.ndim == 4:
      x = _convolve(x, kernel, bias)
    else:
      x = jax.nn.relu(x.reshape([len(x), -1]) @ kernel + bias)
  log_probabilities = jax.nn.log_softmax(x @ last + last_bias)
  return -jnp.mean(jnp.take_along_axis(log_probabilities, y[:, None], 1))

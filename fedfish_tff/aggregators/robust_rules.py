# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Byzantine-robust rules that combine updates, some of which may be arbitrary.

The coordinate-wise median and trimmed mean of Yin, Chen, Ramchandran and
Bartlett, "Byzantine-Robust Distributed Learning: Towards Optimal Statistical
Rates", ICML 2018 (arXiv:1803.01498), Definitions 1 and 2; Krum and Multi-Krum
of Blanchard, El Mhamdi, Guerraoui and Stainer, "Machine Learning with
Adversaries: Byzantine Tolerant Gradient Descent", NIPS 2017 (arXiv:1703.02757),
sections 4 and 5. All clients count equally in them. A rule takes one row of
finite numbers per client, in graph operations. For no rows, or fewer than the
rule needs, its result is NaN, which server optimizers of this package reject.
"""

from collections.abc import Callable
import math

from fedfish_tff import errors

import tensorflow as tf

# Maps float [clients, coordinates] to float [coordinates].
RowRule = Callable[[tf.Tensor], tf.Tensor]


def median_of_rows(rows: tf.Tensor) -> tf.Tensor:
  """Returns each coordinate's median; for even numbers, the middle two's mean.

  Args:
    rows: float [clients, coordinates].
  """
  num_rows = tf.shape(rows)[0]
  middle = tf.sort(rows, axis=0)[(num_rows - 1) // 2 : num_rows // 2 + 1]
  return tf.reduce_mean(middle, axis=0)


def build_trimmed_mean(share: float) -> RowRule:
  """Builds the mean of each coordinate without its largest and smallest values.

  Args:
    share: The share of the n values that is left out at each end, 0 to below a
      half: floor(share * n) of them, as in `scipy.stats.trim_mean`.
  """
  errors.check_range('share', share, least=0, below=0.5)

  def trimmed_mean(rows: tf.Tensor) -> tf.Tensor:
    num_rows = tf.shape(rows)[0]
    cut = tf.cast(
      tf.floor(tf.constant(share, tf.float64) * tf.cast(num_rows, tf.float64)),
      tf.int32,
    )
    return tf.reduce_mean(tf.sort(rows, axis=0)[cut : num_rows - cut], axis=0)

  return trimmed_mean


def build_krum(num_attackers: int, num_selected: int = 1) -> RowRule:
  """Builds Krum, which selects the row nearest to its neighbours.

  The score of a row is the sum of its squared distances to the n - f - 2
  nearest other rows. Among equal scores the first row is best.

  Args:
    num_attackers: f, the number of rows that may be arbitrary. There must be 2
      f + 3 rows.
    num_selected: m, the number of rows with the lowest scores. Their mean is
      the result: 1 for Krum, more for Multi-Krum. With all rows it is the mean.
  """
  errors.check_integer('num_attackers', num_attackers, least=0)
  errors.check_positive_integer('num_selected', num_selected)
  needed = max(2 * num_attackers + 3, num_selected)

  def select(rows: tf.Tensor) -> tf.Tensor:
    # In float64 |a|^2 + |b|^2 - 2 a b keeps all distances of float32, and no
    # square overflows.
    exact = tf.cast(rows, tf.float64)
    products = tf.matmul(exact, exact, transpose_b=True)
    squares = tf.linalg.diag_part(products)
    distances = squares[:, tf.newaxis] + squares - 2 * products
    infinite = tf.fill(tf.shape(squares), tf.constant(math.inf, tf.float64))
    others = tf.sort(tf.linalg.set_diag(distances, infinite), axis=1)
    num_nearest = tf.shape(rows)[0] - num_attackers - 2
    scores = tf.reduce_sum(others[:, :num_nearest], axis=1)
    best = tf.argsort(scores, stable=True)[:num_selected]
    return tf.reduce_mean(tf.gather(rows, best), axis=0)

  def krum(rows: tf.Tensor) -> tf.Tensor:
    return tf.cond(
      tf.shape(rows)[0] < needed,
      lambda: tf.fill(tf.shape(rows)[1:], tf.constant(math.nan, rows.dtype)),
      lambda: select(rows),
    )

  return krum

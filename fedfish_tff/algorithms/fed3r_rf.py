# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fed3R-RF: Fed3R on random Fourier features of the extractor's features.

Fani et al., ICML 2024: a closed-form kernel ridge classifier with statistics of
shape [D, D]. The random features are a function of the seed.
"""

from fedfish_tff import choices
from fedfish_tff.algorithms import fed3r
from fedfish_tff.algorithms import process
from fedfish_tff.models import feature_map as feature_map_lib
from fedfish_tff.models import random_features

import tensorflow as tf
import tensorflow_federated as tff


def build_fed3r_rf(
  feature_map: feature_map_lib.FeatureMap,
  *,
  num_classes: int,
  num_random_features: int,
  bandwidth: float,
  seed: int,
  regularization: float = 0.01,
  bias: choices.RidgeBias = choices.RidgeBias.REGULARIZED,
  normalize_classes: bool = True,
  accumulator_dtype: tf.DType = tf.float32,
  chunk_size: int = 1024,
  sum_factory: tff.aggregators.UnweightedAggregationFactory | None = None,
) -> process.FederatedProcess:
  """Builds Fed3R-RF (Fani et al., 2024): `build_fed3r` on D random features.

  They are those of `models.create_random_features`, with the extractor's
  features v, Omega from N(0, 1 / sigma^2) and u from U(0, 2 pi), drawn by
  `seed`:

    phi = sqrt(2 / D) cos(Omega^T v + u)

  D, `num_random_features`, is 5,000 and 10,000 in the paper; a client and the
  server need memory for a few [D, D] matrices. The paper gives no sigma,
  `bandwidth`; `models.median_bandwidth` of held-out features is a usual choice.
  """
  return fed3r.build_fed3r(
    random_features.create_random_features(
      feature_map,
      num_random_features=num_random_features,
      bandwidth=bandwidth,
      seed=seed,
    ),
    num_classes=num_classes,
    regularization=regularization,
    bias=bias,
    normalize_classes=normalize_classes,
    accumulator_dtype=accumulator_dtype,
    chunk_size=chunk_size,
    sum_factory=sum_factory,
  )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The closed-form algorithms, for the tests that run all of them."""

from collections.abc import Callable
from collections.abc import Mapping

from fedfish_tff import algorithms
from fedfish_tff import models

NUM_CLASSES = 3
FEATURE_MAP = models.create_dense_features(
  num_inputs=4, hidden_units=[6], seed=0
)

# A new closed-form algorithm is entered here.
BUILDERS: Mapping[str, Callable[[], algorithms.FederatedProcess]] = {
  'build_fed3r': lambda: algorithms.build_fed3r(
    FEATURE_MAP, num_classes=NUM_CLASSES
  ),
  'build_fed3r_rf': lambda: algorithms.build_fed3r_rf(
    FEATURE_MAP,
    num_classes=NUM_CLASSES,
    num_random_features=8,
    bandwidth=2.0,
    seed=1,
  ),
  'build_fed_ncm': lambda: algorithms.build_fed_ncm(
    FEATURE_MAP, num_classes=NUM_CLASSES
  ),
}

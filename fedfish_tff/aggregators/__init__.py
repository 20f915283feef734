# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""How client updates are combined: `tff.aggregators` factories."""

from fedfish_tff.aggregators.fisher_weighted_mean import (
  FisherWeightedMeanFactory as FisherWeightedMeanFactory,
)

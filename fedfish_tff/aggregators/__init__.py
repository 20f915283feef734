# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""How client updates are combined: `tff.aggregators` factories, and matching."""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.aggregators.collected_updates import (
    CollectedUpdatesFactory as CollectedUpdatesFactory,
  )
  from fedfish_tff.aggregators.fisher_weighted_mean import (
    FisherWeightedMeanFactory as FisherWeightedMeanFactory,
  )
  from fedfish_tff.aggregators.matched_average import average_last_layer
  from fedfish_tff.aggregators.matched_average import average_recurrent
  from fedfish_tff.aggregators.matched_average import match_units
  from fedfish_tff.aggregators.matched_average import MatchedUnits
  from fedfish_tff.aggregators.matched_average import pad_inputs
  from fedfish_tff.aggregators.matched_average import pad_units
  from fedfish_tff.aggregators.matched_average import take_inputs
  from fedfish_tff.aggregators.matched_average import take_units
  from fedfish_tff.aggregators.matched_average import unit_rows
  from fedfish_tff.aggregators.matched_average import unit_tensors
  from fedfish_tff.aggregators.partial_mean import (
    PartialMeanFactory as PartialMeanFactory,
  )
  from fedfish_tff.aggregators.private_mean import (
    PrivateMeanFactory as PrivateMeanFactory,
  )
  from fedfish_tff.aggregators.quantized_sum import measure_payload
  from fedfish_tff.aggregators.quantized_sum import (
    QuantizedSumFactory as QuantizedSumFactory,
  )
  from fedfish_tff.aggregators.robust_rules import build_krum
  from fedfish_tff.aggregators.robust_rules import build_trimmed_mean
  from fedfish_tff.aggregators.robust_rules import median_of_rows
  from fedfish_tff.aggregators.robust_rules import RowRule
  from fedfish_tff.aggregators.sent_parts import (
    SentPartsFactory as SentPartsFactory,
  )
  from fedfish_tff.aggregators.upper_triangle_sum import pack_upper_triangle
  from fedfish_tff.aggregators.upper_triangle_sum import unpack_upper_triangle
  from fedfish_tff.aggregators.upper_triangle_sum import UpperTriangleSumFactory

__getattr__, __dir__ = lazy.attach(__name__)

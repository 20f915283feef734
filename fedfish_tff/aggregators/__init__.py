# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Aggregation of client updates: `tff.aggregators` factories, and matching.

Factories and rules raise `errors.InputError` for an argument that is out of
range, and `TypeError` for an inner factory or a type of values of another kind.
"""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.aggregators.centered_clipping import *
  from fedfish_tff.aggregators.collected_updates import *
  from fedfish_tff.aggregators.fisher_weighted_mean import *
  from fedfish_tff.aggregators.matched_average import *
  from fedfish_tff.aggregators.named_parts import *
  from fedfish_tff.aggregators.partial_mean import *
  from fedfish_tff.aggregators.private_mean import *
  from fedfish_tff.aggregators.quantized_sum import *
  from fedfish_tff.aggregators.robust_rules import *
  from fedfish_tff.aggregators.sent_masks import *
  from fedfish_tff.aggregators.upper_triangle_sum import *

__getattr__, __dir__ = lazy.attach(__name__)

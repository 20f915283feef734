# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluation of any process: global, personalised, barrier, comparison.

Bad arguments, unknown metrics and data that cannot be scored raise
`errors.InputError`.
"""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.evaluation.client_scorer import *
  from fedfish_tff.evaluation.client_server_barrier import *
  from fedfish_tff.evaluation.client_statistics import *
  from fedfish_tff.evaluation.few_shot import *
  from fedfish_tff.evaluation.gradient_norm import *
  from fedfish_tff.evaluation.own_data_evaluation import *
  from fedfish_tff.evaluation.paired_comparison import *
  from fedfish_tff.evaluation.ranking import *
  from fedfish_tff.evaluation.round_evaluation import *
  from fedfish_tff.evaluation.scorer_inputs import *
  from fedfish_tff.evaluation.subspace_distance import *

__getattr__, __dir__ = lazy.attach(__name__)

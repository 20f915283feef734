# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluation of any process: global, personalised, barrier, comparison."""

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

_EXPORTS = {
  'client_scorer': 'ClientInput ClientScorer Scores',
  'client_server_barrier': 'BarrierScores client_barriers CohortBarrier',
  'client_statistics': """
    count_diverged count_diverged_clients jain_index mean_over_clients
    metric_values quantiles score_names spread standard_deviation weighted_mean
    worst_tenth
  """,
  'few_shot': 'FewShotEvaluation FewShotScores',
  'gradient_norm': 'AccuracyCriterion build_gradient_norm',
  'own_data_evaluation': 'LoadClientStateFn own_models OwnDataEvaluation',
  'paired_comparison': """
    ALPHA adjust_holm compare_nested compare_paired fewest_pairs flip_signs
    PairedComparison
  """,
  'ranking': 'gains is_better select_best Selection',
  'round_evaluation': 'HeldOutEvaluation SharedComputations',
  'scorer_inputs': """
    build_barrier_input chunk_clients load_chunks plan_whole_client
    split_client
  """,
  'subspace_distance': 'principal_angle_distance',
}
__getattr__, __dir__ = lazy.attach(__name__, _EXPORTS)

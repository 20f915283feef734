# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluation of any process: global, personalised, barrier, comparison."""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.evaluation.chunked_evaluation import *
  from fedfish_tff.evaluation.client_evaluation import *
  from fedfish_tff.evaluation.client_model_evaluation import *
  from fedfish_tff.evaluation.client_server_barrier import *
  from fedfish_tff.evaluation.client_statistics import *
  from fedfish_tff.evaluation.few_shot import *
  from fedfish_tff.evaluation.gradient_norm import *
  from fedfish_tff.evaluation.inputs import *
  from fedfish_tff.evaluation.own_data_evaluation import *
  from fedfish_tff.evaluation.paired_comparison import *
  from fedfish_tff.evaluation.personalization import *
  from fedfish_tff.evaluation.ranking import *
  from fedfish_tff.evaluation.round_evaluation import *
  from fedfish_tff.evaluation.subspace_distance import *
  from fedfish_tff.evaluation.weight_selection import *

_EXPORTS = {
  'chunked_evaluation': 'ChunkedEvaluation ChunkedResult',
  'client_evaluation': """
    build_client_evaluation build_global_evaluation build_local_evaluation
    build_local_totals build_metric_totals build_totals_finalizer
  """,
  'client_model_evaluation': """
    ClientModelEvaluation LoadClientStateFn own_models
  """,
  'client_server_barrier': """
    barrier build_client_server_barrier client_barriers
  """,
  'client_statistics': """
    count_diverged mean_over_clients metric_values standard_deviation
    weighted_mean worst_tenth
  """,
  'few_shot': 'FewShotEvaluation FewShotScores',
  'gradient_norm': 'AccuracyCriterion build_gradient_norm',
  'inputs': """
    build_barrier_input build_personalization_input chunk_clients
    EvaluationInput load_chunks plan_whole_client
  """,
  'own_data_evaluation': 'build_own_data_evaluation OwnDataEvaluation',
  'paired_comparison': 'compare_nested compare_paired PairedComparison',
  'personalization': 'build_personalization_totals',
  'ranking': 'gains is_better select_best Selection',
  'round_evaluation': 'CohortBarrier HeldOutEvaluation SharedComputations',
  'subspace_distance': 'principal_angle_distance',
  'weight_selection': 'select_weights',
}
__getattr__, __dir__ = lazy.attach(__name__, _EXPORTS)

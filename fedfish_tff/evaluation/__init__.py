# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluation of any process: global, personalised, barrier, comparison."""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.evaluation.chunked_evaluation import ChunkedEvaluation
  from fedfish_tff.evaluation.chunked_evaluation import ChunkedResult
  from fedfish_tff.evaluation.client_evaluation import build_client_evaluation
  from fedfish_tff.evaluation.client_evaluation import build_global_evaluation
  from fedfish_tff.evaluation.client_evaluation import build_local_evaluation
  from fedfish_tff.evaluation.client_evaluation import build_local_totals
  from fedfish_tff.evaluation.client_evaluation import build_metric_totals
  from fedfish_tff.evaluation.client_evaluation import build_totals_finalizer
  from fedfish_tff.evaluation.client_model_evaluation import (
    ClientModelEvaluation,
  )
  from fedfish_tff.evaluation.client_model_evaluation import LoadClientStateFn
  from fedfish_tff.evaluation.client_model_evaluation import own_models
  from fedfish_tff.evaluation.client_server_barrier import barrier
  from fedfish_tff.evaluation.client_server_barrier import (
    build_client_server_barrier,
  )
  from fedfish_tff.evaluation.client_server_barrier import client_barriers
  from fedfish_tff.evaluation.client_statistics import count_diverged
  from fedfish_tff.evaluation.client_statistics import mean_over_clients
  from fedfish_tff.evaluation.client_statistics import metric_values
  from fedfish_tff.evaluation.client_statistics import standard_deviation
  from fedfish_tff.evaluation.client_statistics import weighted_mean
  from fedfish_tff.evaluation.client_statistics import worst_tenth
  from fedfish_tff.evaluation.few_shot import FewShotEvaluation
  from fedfish_tff.evaluation.few_shot import FewShotScores
  from fedfish_tff.evaluation.gradient_norm import AccuracyCriterion
  from fedfish_tff.evaluation.gradient_norm import build_gradient_norm
  from fedfish_tff.evaluation.inputs import build_barrier_input
  from fedfish_tff.evaluation.inputs import build_personalization_input
  from fedfish_tff.evaluation.inputs import chunk_clients
  from fedfish_tff.evaluation.inputs import EvaluationInput
  from fedfish_tff.evaluation.inputs import load_chunks
  from fedfish_tff.evaluation.inputs import plan_whole_client
  from fedfish_tff.evaluation.own_data_evaluation import (
    build_own_data_evaluation,
  )
  from fedfish_tff.evaluation.own_data_evaluation import OwnDataEvaluation
  from fedfish_tff.evaluation.paired_comparison import compare_nested
  from fedfish_tff.evaluation.paired_comparison import compare_paired
  from fedfish_tff.evaluation.paired_comparison import PairedComparison
  from fedfish_tff.evaluation.personalization import (
    build_personalization_totals,
  )
  from fedfish_tff.evaluation.ranking import gains
  from fedfish_tff.evaluation.ranking import is_better
  from fedfish_tff.evaluation.ranking import select_best
  from fedfish_tff.evaluation.ranking import Selection
  from fedfish_tff.evaluation.round_evaluation import CohortBarrier
  from fedfish_tff.evaluation.round_evaluation import HeldOutEvaluation
  from fedfish_tff.evaluation.round_evaluation import SharedComputations
  from fedfish_tff.evaluation.subspace_distance import principal_angle_distance
  from fedfish_tff.evaluation.weight_selection import select_weights

__getattr__, __dir__ = lazy.attach(__name__)

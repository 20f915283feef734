# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients' computations in a round."""

from typing import TYPE_CHECKING

from fedfish_tff import lazy
from fedfish_tff.choices import ControlUpdate as ControlUpdate
from fedfish_tff.choices import CoordinateScore as CoordinateScore
from fedfish_tff.choices import Direction as Direction
from fedfish_tff.choices import FisherEstimator as FisherEstimator
from fedfish_tff.choices import FisherGranularity as FisherGranularity
from fedfish_tff.choices import FisherNormalization as FisherNormalization
from fedfish_tff.choices import MetaBatches as MetaBatches
from fedfish_tff.choices import MetaGradient as MetaGradient

if TYPE_CHECKING:
  from fedfish_tff.client_work.client_update import *
  from fedfish_tff.client_work.fisher import *
  from fedfish_tff.client_work.fisher_delta import *
  from fedfish_tff.client_work.gradient_transforms import *
  from fedfish_tff.client_work.gradient_update import *
  from fedfish_tff.client_work.local_training import *
  from fedfish_tff.client_work.meta_training import *
  from fedfish_tff.client_work.model_delta import *
  from fedfish_tff.client_work.nesterov import *
  from fedfish_tff.client_work.plain_sgd import *
  from fedfish_tff.client_work.proximal import *
  from fedfish_tff.client_work.rate_parameter import *
  from fedfish_tff.client_work.ridge_statistics import *
  from fedfish_tff.client_work.tensor_selection import *

_EXPORTS = {
  'client_update': """
    build_client_work CheckedUpdate client_weight ClientUpdate ClientUpdateFn
    leave_out_non_finite Server
  """,
  'fisher': 'fisher_diagonal',
  'fisher_delta': 'build_fisher_delta_update',
  'gradient_transforms': """
    build_weight_decay_optimizer gradients_of_steps GradientTransform
    transform_gradients unwrap_optimizer WrappedOptimizer
  """,
  'gradient_update': 'build_gradient_update mean_gradient MeanGradient',
  'local_training': """
    all_finite build_local_training build_training check_optimizer
    check_whole_epochs count_batches_of_an_epoch train_locally train_part
    TrainFn TrainingResult
  """,
  'meta_training': 'build_meta_training',
  'model_delta': """
    build_model_delta_update build_trained_delta_update delta_update
  """,
  'nesterov': 'build_nesterov',
  'plain_sgd': """
    check_plain_sgd check_sgd distance_of_unit_gradients learning_rate
  """,
  'proximal': 'build_proximal_optimizer is_proximal pull_to',
  'rate_parameter': 'build_rate_parameter_optimizer',
  'ridge_statistics': 'build_ridge_statistics',
  'tensor_selection': """
    build_coordinate_selector build_share_selector build_threshold_selector
    check_selector group_by_layer Selector
  """,
}
__getattr__, __dir__ = lazy.attach(__name__, _EXPORTS)

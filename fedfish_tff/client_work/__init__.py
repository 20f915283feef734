# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a client computes in a round."""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.choices import ControlUpdate as ControlUpdate
  from fedfish_tff.choices import CoordinateScore as CoordinateScore
  from fedfish_tff.choices import Direction as Direction
  from fedfish_tff.choices import FisherEstimator as FisherEstimator
  from fedfish_tff.choices import FisherNormalization as FisherNormalization
  from fedfish_tff.choices import MetaBatches as MetaBatches
  from fedfish_tff.choices import MetaGradient as MetaGradient
  from fedfish_tff.client_work.alternating_training import (
    build_alternating_training as build_alternating_training,
  )
  from fedfish_tff.client_work.alternating_training import (
    train_part as train_part,
  )
  from fedfish_tff.client_work.client_work_process import (
    build_client_state_work as build_client_state_work,
  )
  from fedfish_tff.client_work.client_work_process import (
    build_client_work as build_client_work,
  )
  from fedfish_tff.client_work.client_work_process import (
    build_update_is_finite as build_update_is_finite,
  )
  from fedfish_tff.client_work.client_work_process import (
    client_weight as client_weight,
  )
  from fedfish_tff.client_work.client_work_process import (
    ClientStateUpdateFn as ClientStateUpdateFn,
  )
  from fedfish_tff.client_work.client_work_process import (
    ClientUpdate as ClientUpdate,
  )
  from fedfish_tff.client_work.client_work_process import (
    ClientUpdateFn as ClientUpdateFn,
  )
  from fedfish_tff.client_work.client_work_process import (
    leave_out_non_finite as leave_out_non_finite,
  )
  from fedfish_tff.client_work.client_work_process import (
    weigh_update as weigh_update,
  )
  from fedfish_tff.client_work.control_variates import (
    build_control_variate_update as build_control_variate_update,
  )
  from fedfish_tff.client_work.excluded_clients import (
    count_excluded_clients as count_excluded_clients,
  )
  from fedfish_tff.client_work.fisher import fisher_diagonal as fisher_diagonal
  from fedfish_tff.client_work.fisher_delta import (
    build_fisher_delta_update as build_fisher_delta_update,
  )
  from fedfish_tff.client_work.gradient_update import (
    build_gradient_update as build_gradient_update,
  )
  from fedfish_tff.client_work.gradient_update import (
    mean_gradient as mean_gradient,
  )
  from fedfish_tff.client_work.gradient_update import (
    MeanGradient as MeanGradient,
  )
  from fedfish_tff.client_work.linear_representation import (
    build_representation_update as build_representation_update,
  )
  from fedfish_tff.client_work.linear_representation import (
    solve_head as solve_head,
  )
  from fedfish_tff.client_work.linear_representation import (
    sum_moments as sum_moments,
  )
  from fedfish_tff.client_work.local_training import all_finite as all_finite
  from fedfish_tff.client_work.local_training import (
    build_local_training as build_local_training,
  )
  from fedfish_tff.client_work.local_training import (
    build_training as build_training,
  )
  from fedfish_tff.client_work.local_training import (
    check_optimizer as check_optimizer,
  )
  from fedfish_tff.client_work.local_training import (
    check_whole_epochs as check_whole_epochs,
  )
  from fedfish_tff.client_work.local_training import (
    count_batches_of_an_epoch as count_batches_of_an_epoch,
  )
  from fedfish_tff.client_work.local_training import (
    train_locally as train_locally,
  )
  from fedfish_tff.client_work.local_training import TrainFn as TrainFn
  from fedfish_tff.client_work.local_training import (
    TrainingResult as TrainingResult,
  )
  from fedfish_tff.client_work.meta_training import (
    build_meta_training as build_meta_training,
  )
  from fedfish_tff.client_work.model_delta import (
    build_model_delta_update as build_model_delta_update,
  )
  from fedfish_tff.client_work.model_delta import (
    build_trained_delta_update as build_trained_delta_update,
  )
  from fedfish_tff.client_work.nesterov import build_nesterov as build_nesterov
  from fedfish_tff.client_work.partial_update import (
    build_partial_update as build_partial_update,
  )
  from fedfish_tff.client_work.partially_local import (
    build_partially_local_update as build_partially_local_update,
  )
  from fedfish_tff.client_work.personal_model import (
    build_personal_model_update as build_personal_model_update,
  )
  from fedfish_tff.client_work.proximal import (
    build_proximal_optimizer as build_proximal_optimizer,
  )
  from fedfish_tff.client_work.proximal import is_proximal as is_proximal
  from fedfish_tff.client_work.proximal import pull_to as pull_to
  from fedfish_tff.client_work.rate_parameter import (
    build_rate_parameter_optimizer as build_rate_parameter_optimizer,
  )
  from fedfish_tff.client_work.ridge_statistics import (
    build_ridge_statistics as build_ridge_statistics,
  )
  from fedfish_tff.client_work.server_statistics import (
    build_server_statistics_update as build_server_statistics_update,
  )
  from fedfish_tff.client_work.server_statistics import (
    build_server_statistics_work as build_server_statistics_work,
  )
  from fedfish_tff.client_work.server_statistics import (
    StatisticsUpdateFn as StatisticsUpdateFn,
  )
  from fedfish_tff.client_work.tensor_groups import check_groups as check_groups
  from fedfish_tff.client_work.tensor_groups import (
    group_by_layer as group_by_layer,
  )
  from fedfish_tff.client_work.tensor_selection import (
    build_coordinate_selector as build_coordinate_selector,
  )
  from fedfish_tff.client_work.tensor_selection import (
    build_share_selector as build_share_selector,
  )
  from fedfish_tff.client_work.tensor_selection import (
    build_threshold_selector as build_threshold_selector,
  )
  from fedfish_tff.client_work.tensor_selection import (
    check_selector as check_selector,
  )
  from fedfish_tff.client_work.tensor_selection import Selector as Selector
  from fedfish_tff.client_work.weight_decay import (
    add_weight_decay as add_weight_decay,
  )
  from fedfish_tff.client_work.weight_decay import (
    build_weight_decay_optimizer as build_weight_decay_optimizer,
  )

__getattr__, __dir__ = lazy.attach(__name__)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Simulation of a run: cohorts, the training loop, and what it writes."""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.simulation.asynchronous import *
  from fedfish_tff.simulation.barrier import *
  from fedfish_tff.simulation.checkpoints import *
  from fedfish_tff.simulation.client_speeds import *
  from fedfish_tff.simulation.client_state_store import *
  from fedfish_tff.simulation.cohort_prefetch import *
  from fedfish_tff.simulation.communication import *
  from fedfish_tff.simulation.criterion import *
  from fedfish_tff.simulation.deadlines import *
  from fedfish_tff.simulation.divergence import Divergence as Divergence
  from fedfish_tff.simulation.early_stopping import *
  from fedfish_tff.simulation.federated_round import (
    has_client_states as has_client_states,
  )
  from fedfish_tff.simulation.federated_round import run_round as run_round
  from fedfish_tff.simulation.files import check_entries as check_entries
  from fedfish_tff.simulation.files import make_folder as make_folder
  from fedfish_tff.simulation.files import write_atomically as write_atomically
  from fedfish_tff.simulation.hooks import *
  from fedfish_tff.simulation.metrics_csv import *
  from fedfish_tff.simulation.metrics_flattening import *
  from fedfish_tff.simulation.metrics_rows import read_rows as read_rows
  from fedfish_tff.simulation.metrics_rows import ROUND_COLUMN as ROUND_COLUMN
  from fedfish_tff.simulation.metrics_rows import Row as Row
  from fedfish_tff.simulation.participation import *
  from fedfish_tff.simulation.participation_stages import *
  from fedfish_tff.simulation.power_of_choice import *
  from fedfish_tff.simulation.privacy_loss import *
  from fedfish_tff.simulation.progress import *
  from fedfish_tff.simulation.round_problems import Cause as Cause
  from fedfish_tff.simulation.round_problems import (
    DIVERGED_COLUMN as DIVERGED_COLUMN,
  )
  from fedfish_tff.simulation.round_problems import (
    training_weights as training_weights,
  )
  from fedfish_tff.simulation.run_recorder import *
  from fedfish_tff.simulation.schedules import *
  from fedfish_tff.simulation.simulated_time import *
  from fedfish_tff.simulation.speed_participation import *
  from fedfish_tff.simulation.training_loop import *
  from fedfish_tff.simulation.wandb_manager import *
  from fedfish_tff.simulation.workdir import *

_EXPORTS = {
  'asynchronous': 'Asynchronous StalenessStore',
  'barrier': 'Barrier BarrierFn',
  'checkpoints': 'CheckpointManager DamagedCheckpointError',
  'client_speeds': """
    build_wall_clock device_class_speeds DeviceClass dynamic_exponential_speeds
    fixed_exponential_speeds read_trace_speeds Speeds WallClock
  """,
  'client_state_store': 'ClientStateStore',
  'cohort_prefetch': 'Cohort CohortPrefetcher',
  'communication': """
    closed_form_upload_bytes CommunicationCosts measure_wire_bytes WireBytes
  """,
  'criterion': 'Criterion CriterionFn',
  'deadlines': 'Deadline',
  'divergence': 'Divergence',
  'early_stopping': 'EarlyStopping',
  'federated_round': 'has_client_states run_round',
  'files': 'check_entries make_folder write_atomically',
  'hooks': 'Hook Round Run',
  'metrics_csv': 'CsvMetricsManager',
  'metrics_flattening': 'flatten_metrics to_number',
  'metrics_rows': 'read_rows ROUND_COLUMN Row',
  'participation': """
    count_visiting_rounds epochs_participation Participation
    poisson_participation proportional_participation uniform_participation
    visit_once_participation
  """,
  'participation_stages': """
    AccuracyStages equal_stages expected_slowest exponential_stages Stages
  """,
  'power_of_choice': 'CandidateLosses LossesFn PowerOfChoice',
  'privacy_loss': """
    Epsilon fixed_size_epsilon poisson_epsilon PrivacyLoss tree_epsilon
  """,
  'progress': 'ProgressReporter report_line report_step',
  'round_problems': 'Cause DIVERGED_COLUMN training_weights',
  'run_recorder': 'RunRecorder',
  'schedules': 'Schedules',
  'simulated_time': 'SimulatedTime',
  'speed_participation': """
    drop_out fastest_participation flanp_participation srpfl_participation
  """,
  'training_loop': """
    check_context EvaluationFn load_result Metrics run_training TrainingResult
  """,
  'wandb_manager': 'WandbManager',
  'workdir': 'open_workdir Workdir',
}
__getattr__, __dir__ = lazy.attach(__name__, _EXPORTS)

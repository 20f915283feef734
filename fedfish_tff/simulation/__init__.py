# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Simulation of a run: cohorts, the training loop, and what it writes."""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.simulation.barrier import Barrier
  from fedfish_tff.simulation.barrier import BarrierFn
  from fedfish_tff.simulation.checkpoints import CheckpointManager
  from fedfish_tff.simulation.checkpoints import DamagedCheckpointError
  from fedfish_tff.simulation.client_speeds import build_wall_clock
  from fedfish_tff.simulation.client_speeds import device_class_speeds
  from fedfish_tff.simulation.client_speeds import DeviceClass
  from fedfish_tff.simulation.client_speeds import dynamic_exponential_speeds
  from fedfish_tff.simulation.client_speeds import fixed_exponential_speeds
  from fedfish_tff.simulation.client_speeds import read_trace_speeds
  from fedfish_tff.simulation.client_speeds import Speeds
  from fedfish_tff.simulation.client_speeds import WallClock
  from fedfish_tff.simulation.client_state_store import ClientStateStore
  from fedfish_tff.simulation.cohort_prefetch import Cohort
  from fedfish_tff.simulation.cohort_prefetch import CohortPrefetcher
  from fedfish_tff.simulation.communication import closed_form_upload_bytes
  from fedfish_tff.simulation.communication import CommunicationCosts
  from fedfish_tff.simulation.communication import measure_wire_bytes
  from fedfish_tff.simulation.communication import WireBytes
  from fedfish_tff.simulation.criterion import Criterion
  from fedfish_tff.simulation.criterion import CriterionFn
  from fedfish_tff.simulation.early_stopping import EarlyStopping
  from fedfish_tff.simulation.federated_round import has_client_states
  from fedfish_tff.simulation.federated_round import run_round
  from fedfish_tff.simulation.files import check_entries
  from fedfish_tff.simulation.files import make_folder
  from fedfish_tff.simulation.files import write_atomically
  from fedfish_tff.simulation.hooks import Hook
  from fedfish_tff.simulation.hooks import Round
  from fedfish_tff.simulation.hooks import RowCallback
  from fedfish_tff.simulation.hooks import Run
  from fedfish_tff.simulation.metrics_csv import CsvMetricsManager
  from fedfish_tff.simulation.metrics_flattening import flatten_metrics
  from fedfish_tff.simulation.metrics_flattening import to_number
  from fedfish_tff.simulation.metrics_rows import read_rows
  from fedfish_tff.simulation.metrics_rows import ROUND_COLUMN
  from fedfish_tff.simulation.metrics_rows import Row
  from fedfish_tff.simulation.participation import count_visiting_rounds
  from fedfish_tff.simulation.participation import epochs_participation
  from fedfish_tff.simulation.participation import first_visits
  from fedfish_tff.simulation.participation import Participation
  from fedfish_tff.simulation.participation import poisson_participation
  from fedfish_tff.simulation.participation import uniform_participation
  from fedfish_tff.simulation.participation import visit_once_participation
  from fedfish_tff.simulation.participation_stages import AccuracyStages
  from fedfish_tff.simulation.participation_stages import equal_stages
  from fedfish_tff.simulation.participation_stages import expected_slowest
  from fedfish_tff.simulation.participation_stages import exponential_stages
  from fedfish_tff.simulation.participation_stages import Stages
  from fedfish_tff.simulation.privacy_loss import Epsilon
  from fedfish_tff.simulation.privacy_loss import fixed_size_epsilon
  from fedfish_tff.simulation.privacy_loss import poisson_epsilon
  from fedfish_tff.simulation.privacy_loss import PrivacyLoss
  from fedfish_tff.simulation.privacy_loss import tree_epsilon
  from fedfish_tff.simulation.progress import ProgressReporter
  from fedfish_tff.simulation.progress import report_step
  from fedfish_tff.simulation.round_problems import training_weights
  from fedfish_tff.simulation.run_recorder import RunRecorder
  from fedfish_tff.simulation.schedules import Schedules
  from fedfish_tff.simulation.simulated_time import SimulatedTime
  from fedfish_tff.simulation.speed_participation import drop_out
  from fedfish_tff.simulation.speed_participation import fastest_participation
  from fedfish_tff.simulation.speed_participation import flanp_participation
  from fedfish_tff.simulation.speed_participation import srpfl_participation
  from fedfish_tff.simulation.training_loop import EvaluationFn
  from fedfish_tff.simulation.training_loop import load_result
  from fedfish_tff.simulation.training_loop import Metrics
  from fedfish_tff.simulation.training_loop import run_training
  from fedfish_tff.simulation.training_loop import TrainingResult
  from fedfish_tff.simulation.wandb_manager import WandbManager
  from fedfish_tff.simulation.workdir import open_workdir
  from fedfish_tff.simulation.workdir import Workdir

__getattr__, __dir__ = lazy.attach(__name__)

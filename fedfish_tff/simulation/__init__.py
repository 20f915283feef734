# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Simulation of a run: cohorts, the training loop, and what it writes.

Bad arguments and data, and files of a run that are damaged or cannot be read or
written, raise `errors.InputError`.
"""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.simulation.asynchronous import *
  from fedfish_tff.simulation.checkpoints import *
  from fedfish_tff.simulation.client_speeds import *
  from fedfish_tff.simulation.client_state_store import *
  from fedfish_tff.simulation.cohort_prefetch import *
  from fedfish_tff.simulation.communication import *
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
  from fedfish_tff.simulation.round_hooks import *
  from fedfish_tff.simulation.round_problems import Cause as Cause
  from fedfish_tff.simulation.round_problems import (
    DIVERGED_COLUMN as DIVERGED_COLUMN,
  )
  from fedfish_tff.simulation.round_problems import (
    training_weights as training_weights,
  )
  from fedfish_tff.simulation.run_recorder import *
  from fedfish_tff.simulation.speed_participation import *
  from fedfish_tff.simulation.training_loop import *
  from fedfish_tff.simulation.wandb_manager import *
  from fedfish_tff.simulation.workdir import *

__getattr__, __dir__ = lazy.attach(__name__)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Federated algorithms as `tff.learning.templates.LearningProcess`.

Those whose clients keep a state are `ClientStateProcess`es.
"""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.algorithms.client_state_composition import (
    compose_client_state_process as compose_client_state_process,
  )
  from fedfish_tff.algorithms.client_state_process import (
    ClientStateOutput as ClientStateOutput,
  )
  from fedfish_tff.algorithms.client_state_process import (
    ClientStateProcess as ClientStateProcess,
  )
  from fedfish_tff.algorithms.composition import (
    compose_optimizer_step as compose_optimizer_step,
  )
  from fedfish_tff.algorithms.composition import (
    compose_process as compose_process,
  )
  from fedfish_tff.algorithms.composition import (
    FinalizerWrapper as FinalizerWrapper,
  )
  from fedfish_tff.algorithms.composition import (
    reject_empty_update as reject_empty_update,
  )
  from fedfish_tff.algorithms.composition import RejectFn as RejectFn
  from fedfish_tff.algorithms.ditto import build_ditto as build_ditto
  from fedfish_tff.algorithms.fed3r import build_fed3r as build_fed3r
  from fedfish_tff.algorithms.fed3r_rf import build_fed3r_rf as build_fed3r_rf
  from fedfish_tff.algorithms.fed_avg import build_fed_avg as build_fed_avg
  from fedfish_tff.algorithms.fed_fish import build_fed_fish as build_fed_fish
  from fedfish_tff.algorithms.fed_ma import build_fed_ma as build_fed_ma
  from fedfish_tff.algorithms.fed_ncm import build_fed_ncm as build_fed_ncm
  from fedfish_tff.algorithms.fed_per import build_fed_per as build_fed_per
  from fedfish_tff.algorithms.fed_prox import build_fed_prox as build_fed_prox
  from fedfish_tff.algorithms.fed_rep import build_fed_rep as build_fed_rep
  from fedfish_tff.algorithms.fed_sgd import build_fed_sgd as build_fed_sgd
  from fedfish_tff.algorithms.hf_maml import build_hf_maml as build_hf_maml
  from fedfish_tff.algorithms.lg_fed_avg import (
    build_lg_fed_avg as build_lg_fed_avg,
  )
  from fedfish_tff.algorithms.linear_representation import (
    build_linear_fed_rep as build_linear_fed_rep,
  )
  from fedfish_tff.algorithms.linear_representation import (
    build_method_of_moments as build_method_of_moments,
  )
  from fedfish_tff.algorithms.matched_layers import (
    find_hidden_layers as find_hidden_layers,
  )
  from fedfish_tff.algorithms.matched_layers import HiddenLayer as HiddenLayer
  from fedfish_tff.algorithms.mime_lite import (
    build_mime_lite as build_mime_lite,
  )
  from fedfish_tff.algorithms.partial_exchange import (
    build_partial_exchange as build_partial_exchange,
  )
  from fedfish_tff.algorithms.partial_exchange import (
    compose_partial_process as compose_partial_process,
  )
  from fedfish_tff.algorithms.partial_exchange import (
    trainable_shapes as trainable_shapes,
  )
  from fedfish_tff.algorithms.partial_finalizer import (
    keep_what_nobody_sent as keep_what_nobody_sent,
  )
  from fedfish_tff.algorithms.partially_local import (
    build_partially_local as build_partially_local,
  )
  from fedfish_tff.algorithms.process import (
    FederatedProcess as FederatedProcess,
  )
  from fedfish_tff.algorithms.scaffold import build_scaffold as build_scaffold
  from fedfish_tff.algorithms.stateful_partial_exchange import (
    build_stateful_partial_exchange as build_stateful_partial_exchange,
  )
  from fedfish_tff.algorithms.weight_averaging import (
    AveragedState as AveragedState,
  )
  from fedfish_tff.algorithms.weight_averaging import (
    compose_weight_averaging as compose_weight_averaging,
  )
  from fedfish_tff.choices import ClassDistance as ClassDistance

__getattr__, __dir__ = lazy.attach(__name__)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Federated algorithms as `tff.learning.templates.LearningProcess`.

Those with client states are `ClientStateProcess`es.
"""

from typing import TYPE_CHECKING

from fedfish_tff import lazy
from fedfish_tff.choices import ClassDistance as ClassDistance

if TYPE_CHECKING:
  from fedfish_tff.algorithms.apfl import *
  from fedfish_tff.algorithms.client_state_process import *
  from fedfish_tff.algorithms.composition import *
  from fedfish_tff.algorithms.ditto import *
  from fedfish_tff.algorithms.fed3r import *
  from fedfish_tff.algorithms.fed3r_rf import *
  from fedfish_tff.algorithms.fed_avg import *
  from fedfish_tff.algorithms.fed_buff import *
  from fedfish_tff.algorithms.fed_cm import *
  from fedfish_tff.algorithms.fed_dyn import *
  from fedfish_tff.algorithms.fed_fish import *
  from fedfish_tff.algorithms.fed_ma import *
  from fedfish_tff.algorithms.fed_ncm import *
  from fedfish_tff.algorithms.fed_nova import *
  from fedfish_tff.algorithms.fed_per import *
  from fedfish_tff.algorithms.fed_prox import *
  from fedfish_tff.algorithms.fed_rep import *
  from fedfish_tff.algorithms.fed_sgd import *
  from fedfish_tff.algorithms.hf_maml import *
  from fedfish_tff.algorithms.lg_fed_avg import *
  from fedfish_tff.algorithms.linear_fed_rep import *
  from fedfish_tff.algorithms.matched_layers import *
  from fedfish_tff.algorithms.mime_lite import *
  from fedfish_tff.algorithms.partial_exchange import *
  from fedfish_tff.algorithms.partially_local import *
  from fedfish_tff.algorithms.process import *
  from fedfish_tff.algorithms.scaffold import *
  from fedfish_tff.algorithms.server_step import *
  from fedfish_tff.algorithms.stateful_partial_exchange import *
  from fedfish_tff.algorithms.weight_averaging import *

_EXPORTS = {
  'apfl': 'build_apfl',
  'client_state_process': 'ClientStateOutput ClientStateProcess',
  'composition': 'compose',
  'ditto': 'build_ditto',
  'fed3r': 'build_fed3r',
  'fed3r_rf': 'build_fed3r_rf',
  'fed_avg': 'build_fed_avg',
  'fed_buff': """
    build_fed_async build_fed_buff constant_staleness_weight
    hinge_staleness_weight polynomial_staleness_weight StalenessWeight
  """,
  'fed_cm': 'build_fed_cm',
  'fed_dyn': 'build_fed_dyn',
  'fed_fish': 'build_fed_fish',
  'fed_ma': 'build_fed_ma',
  'fed_ncm': 'build_fed_ncm',
  'fed_nova': 'build_fed_nova',
  'fed_per': 'build_fed_per',
  'fed_prox': 'build_fed_prox',
  'fed_rep': 'build_fed_rep',
  'fed_sgd': 'build_fed_sgd',
  'hf_maml': 'build_hf_maml',
  'lg_fed_avg': 'build_lg_fed_avg',
  'linear_fed_rep': 'build_linear_fed_rep build_method_of_moments',
  'matched_layers': 'find_hidden_layers HiddenLayer',
  'mime_lite': 'build_mime_lite',
  'partial_exchange': """
    build_partial_exchange compose_partial_process trainable_shapes
  """,
  'partially_local': 'build_partially_local',
  'process': 'FederatedProcess',
  'scaffold': 'build_scaffold',
  'server_step': """
    compose_server_step count_rounds first_round flatten_server keep_unsent
    OptimizerStep reject_empty_update RejectFn SelectFn ServerStepFn
    step_weights TakeStep weighted_factory with_trainable
  """,
  'stateful_partial_exchange': 'build_stateful_partial_exchange',
  'weight_averaging': 'AveragedState compose_weight_averaging',
}
__getattr__, __dir__ = lazy.attach(__name__, _EXPORTS)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Federated algorithms as `tff.learning.templates.LearningProcess`.

Those with client states are `ClientStateProcess`es. Builders raise
`errors.InputError` for an argument that is out of range or does not fit the
model, and `TypeError` for a model, optimizer or aggregator that is not TFF's.
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
  from fedfish_tff.algorithms.p_fed_me import *
  from fedfish_tff.algorithms.partial_exchange import *
  from fedfish_tff.algorithms.partially_local import *
  from fedfish_tff.algorithms.process import *
  from fedfish_tff.algorithms.scaffold import *
  from fedfish_tff.algorithms.server_step import *
  from fedfish_tff.algorithms.stateful_partial_exchange import *
  from fedfish_tff.algorithms.weight_averaging import *

__getattr__, __dir__ = lazy.attach(__name__)

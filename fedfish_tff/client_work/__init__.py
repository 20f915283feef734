# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients' computations in a round.

Builders raise `errors.InputError` for an argument that is out of range, and
`TypeError` for an optimizer that is not TFF's.
"""

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
  from fedfish_tff.client_work.compiled_loops import *
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

__getattr__, __dir__ = lazy.attach(__name__)

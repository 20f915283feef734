# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models, and one view of TFF's two kinds of model.

Bad arguments, and models, maps and statistics that do not fit, raise
`errors.InputError`.
"""

from typing import TYPE_CHECKING

from fedfish_tff import lazy
from fedfish_tff.choices import FineTuning as FineTuning
from fedfish_tff.choices import RidgeBias as RidgeBias

if TYPE_CHECKING:
  from fedfish_tff.models.augmentation import *
  from fedfish_tff.models.class_metrics import *
  from fedfish_tff.models.dense import *
  from fedfish_tff.models.ensemble import *
  from fedfish_tff.models.extended_model import *
  from fedfish_tff.models.feature_map import *
  from fedfish_tff.models.frozen_graph import *
  from fedfish_tff.models.keras_classifier import *
  from fedfish_tff.models.keras_conversion import (
    batch_normalization_tensors as batch_normalization_tensors,
  )
  from fedfish_tff.models.keras_conversion import (
    keras_tensor_names as keras_tensor_names,
  )
  from fedfish_tff.models.keras_model import *
  from fedfish_tff.models.label_samplers import *
  from fedfish_tff.models.language_model import *
  from fedfish_tff.models.linear_representation_model import *
  from fedfish_tff.models.low_rank_adapters import *
  from fedfish_tff.models.model_functions import *
  from fedfish_tff.models.model_partition import *
  from fedfish_tff.models.random_features import *
  from fedfish_tff.models.ridge_classifier import *
  from fedfish_tff.models.ridge_solution import *
  from fedfish_tff.models.weight_files import *

__getattr__, __dir__ = lazy.attach(__name__)

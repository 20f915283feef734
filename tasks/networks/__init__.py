# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Networks of the tasks, built of the parts in fedfish_tff.models.

Sizes that are no positive integers or do not fit, and files of other weights,
raise `errors.InputError`.
"""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from tasks.networks.image_models import *
  from tasks.networks.kneser_ney import *
  from tasks.networks.mobilenet import *
  from tasks.networks.recurrent_language_model import *
  from tasks.networks.resnet import *
  from tasks.networks.squeezenet import *
  from tasks.networks.text_models import *
  from tasks.networks.transformer import *

__getattr__, __dir__ = lazy.attach(__name__)

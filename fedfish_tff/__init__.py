# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish, FedAvg and kin on TensorFlow Federated.

Importing this package before TensorFlow keeps TensorFlow's start-up messages
off stderr; a level set in the environment wins.
"""

import os
import warnings

__version__ = '0.1.0'

# Level 3 because TensorFlow 2.14 logs the absence of CUDA as errors.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
# Dependencies of TFF still import pkg_resources, which warns at each import.
warnings.filterwarnings(
  'ignore', message='pkg_resources is deprecated', category=UserWarning
)

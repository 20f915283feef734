# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Now launch/configs/digits.py:<variant>,size=tpu; here for this version only."""

from launch.configs import digits
from launch.configs import old_names

get_config, sweep = old_names.moved(digits, 'size=tpu')

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Now launch/configs/emnist.py:<variant>,size=compact; here for this version only."""

from launch.configs import emnist
from launch.configs import old_names

get_config, sweep = old_names.moved(emnist, 'size=compact')

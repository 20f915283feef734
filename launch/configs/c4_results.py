# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Now launch/configs/c4.py:<variant>,size=results; here for this version only."""

from launch.configs import c4
from launch.configs import old_names

get_config, sweep = old_names.moved(c4, 'size=results')

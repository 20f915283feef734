# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Now launch/configs/cifar100.py:<variant>,size=results; here for this version only."""

from launch.configs import cifar100
from launch.configs import old_names

get_config, sweep = old_names.moved(cifar100, 'size=results')

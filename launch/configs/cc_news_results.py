# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Now launch/configs/cc_news.py:<variant>,size=results; here for this version only."""

from launch.configs import cc_news
from launch.configs import old_names

get_config, sweep = old_names.moved(cc_news, 'size=results')

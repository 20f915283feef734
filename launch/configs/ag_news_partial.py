# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Now launch/configs/ag_news.py:<variant>; here for this version only."""

from launch.configs import ag_news
from launch.configs import old_names

get_config, sweep = old_names.moved(ag_news, '', 'fed_avg,exchange=partial')

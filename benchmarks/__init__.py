# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of speed, each measured next to a yardstick."""

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: figures of speed, each measured beside its yardstick."""

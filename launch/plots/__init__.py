# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plots of runs: Matplotlib figures made from arrays and from workdirs."""

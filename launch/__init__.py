# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binaries: train, evaluate, plot, demo and the toy figure."""

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runners of plans, which run a stage as a graph or client by client."""

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""SRPFL: slow clients, and its theory on linear representations, simulated."""

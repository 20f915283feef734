# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Keyboard prediction: recall of suggestions beside n-grams (Hard et al. 2018)."""

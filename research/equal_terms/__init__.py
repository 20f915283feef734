# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""All methods on equal terms: one pipeline, one budget of tuning for each."""

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Results of runs: readers, tables and comparisons, without Matplotlib."""

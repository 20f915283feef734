# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What finished runs say: readers, tables and comparisons, no Matplotlib."""

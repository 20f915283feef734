# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tasks on numbers: your own arrays and synthetic regressions."""

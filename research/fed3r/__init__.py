# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fed3R: closed-form classifiers beside gradients (Fani et al. 2024)."""

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Studies with figures or tables of their own, and the binaries that run them."""

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Studies with their own figures or tables, and the binaries that run them."""

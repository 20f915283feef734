# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Values of users and clients, and clients' data as flat arrays."""

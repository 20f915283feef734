# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scripts for other packages' environments; see `peer_rounds`."""

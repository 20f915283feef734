# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Raw data and folders of clients, for the binaries that read and write them."""

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish on images and text, and where it gains over FedAvg."""

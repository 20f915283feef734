# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Methods, one module each, as configs, runs and plots know them."""

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Readers that turn a TFF computation into the plan by which it runs."""

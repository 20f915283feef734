# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Partial weight exchange: AG News, and the pretraining of a small RoBERTa."""

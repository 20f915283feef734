# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The work behind group_dataset, partition_dataset and train_tokenizer."""

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Studies of one paper or one page of results; not in the wheel."""

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs pytest on one file, all its tests, as the main module of a py_test."""

import sys

import pytest

if __name__ == '__main__':
  sys.exit(pytest.main(['-m', '', *sys.argv[1:]]))

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plots of runs: Matplotlib figures made from arrays and from workdirs."""

import contextlib
import importlib.util
import pathlib

# Matplotlib reads the matplotlibrc of the working directory or else the user's,
# and raises if that is not text. These figures only need Matplotlib's own.
_RC_FOLDER = (
  pathlib.Path(importlib.util.find_spec('matplotlib').origin).parent
  / 'mpl-data'
)
with contextlib.chdir(_RC_FOLDER):
  import matplotlib  # noqa: F401

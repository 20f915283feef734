# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Results of runs: readers, tables and comparisons, without Matplotlib.

`read` returns runs as pandas data frames, from which all tables are made.
"""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from launch.results.frames import Frames as Frames
  from launch.results.reading import read as read

__getattr__, __dir__ = lazy.attach(__name__)

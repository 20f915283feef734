# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Results of runs: readers, tables and comparisons, without Matplotlib.

`read` returns runs as pandas data frames, from which all tables are made.
"""

from __future__ import annotations

import typing

from fedfish_tff import lazy

if typing.TYPE_CHECKING:
  from launch.results.frames import Frames
  from launch.results.reading import read

_EXPORTS = {'frames': 'Frames', 'reading': 'read'}

__all__ = [name for names in _EXPORTS.values() for name in names.split()]
__getattr__, __dir__ = lazy.attach(__name__, _EXPORTS)

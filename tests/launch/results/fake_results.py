# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sweeps whose runs have given values on validation clients."""

import itertools
import pathlib

from launch.results import sweep_results
from tests.launch.sweeps import fake_sweeps

UNFINISHED = 'unfinished'


def write(case, runs, values, each=(), **options):
  """Returns the folder of a sweep and its runs as they are read.

  Args:
    case: The test case, which makes the folder.
    runs: The planned runs.
    values: The values on validation clients, None if a run has diverged; runs
      without one are not finished.
    each: Further options of `fake_sweeps.write_result` for each run.
    **options: The options for all runs.
  """
  path = pathlib.Path(case.create_tempdir().full_path) / 'sweep'
  folder = fake_sweeps.write_sweep(path, runs)
  for run, value, own in itertools.zip_longest(
    runs, values, each, fillvalue=UNFINISHED
  ):
    if value != UNFINISHED:
      own = {} if own == UNFINISHED else own
      fake_sweeps.write_result(folder, run, value, **options, **own)
  return folder, sweep_results.read_results(folder)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs as data frames from a glob, for analyses of one's own."""

import glob
import os
import pathlib

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.results import frames as frames_lib
from launch.results import sweep_folder


def read(*paths: str | os.PathLike[str]) -> frames_lib.Frames:
  """Returns runs as the data frames that tables and figures are made of.

  Args:
    *paths: Workdirs of launch.train, folders of launch.sweep, which stand for
      their runs, or patterns of them such as `'runs/*'`. Of several matches,
      folders of something else are left out, as are runs without a round.

  Returns:
    The frames. `runs` has a row for each run, with `label`, `seed`, `status`
    and the numbers of summary.json; `rounds` has the rows of metrics.csv by run
    and round, `clients` those of evaluation/clients.csv by run and client, and
    `own_clients` those of evaluation/own_clients.csv.
    The index `run` is that of `runs`.
  """
  workdirs = dict.fromkeys(
    workdir for path in map(os.fspath, paths) for workdir in _find(path)
  )
  if not workdirs:
    raise errors.InputError(
      'The paths must be those of runs with a round, got '
      f'{", ".join(map(os.fspath, paths)) or "none"}.'
    )
  return frames_lib.read(workdirs)


def _find(path: str) -> list[pathlib.Path]:
  """Returns the workdirs that a path or a pattern stands for."""
  if os.path.isdir(path):
    # Only what was named itself must be a run.
    return _runs_of(pathlib.Path(path)) or [pathlib.Path(path)]
  matches = map(pathlib.Path, sorted(glob.glob(path)))
  return [workdir for match in matches for workdir in _runs_of(match)]


def _runs_of(path: pathlib.Path) -> list[pathlib.Path]:
  """Returns the workdirs of a folder, itself or a sweep's, that have a round."""
  folder = sweep_folder.SweepFolder(path)
  workdirs = [path]
  if folder.sweep_path.exists():
    workdirs = [folder.workdir(name) for name in folder.read_runs()]
  return [
    workdir
    for workdir in workdirs
    if (workdir / 'config.json').exists()
    and simulation.Workdir(workdir).metrics_path.exists()
  ]

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The work of the processes of a sweep.

TensorFlow is imported when `train` is called, or by the process from which the
sweep forks the others, but not by the sweep itself.
"""

from __future__ import annotations

from collections.abc import Mapping
import functools
import pathlib
import typing
from typing import Any

from fedfish_tff import trust
from launch.methods import config_checks

if typing.TYPE_CHECKING:
  from launch.runs import run_sequence

# The name of the function `train` in jobs.
TRAIN = 'launch.sweeps.worker:train'
# The modules that a run imports, loaded once and shared by all processes.
PRELOADED = (
  'launch.runs.run_sequence',
  'launch.runs.evaluation_run',
)


def train(
  *,
  config: Mapping[str, Any],
  workdir: pathlib.Path,
  data_dir: str | None,
  trust_saved_models: bool,
  is_trained: bool,
  evaluated: bool,
) -> None:
  """Trains one run and evaluates it on request, resuming unfinished work.

  Args:
    config: The config as nested mappings.
    workdir: The workdir of the run.
    data_dir: The folder of the data, for tasks that read files.
    trust_saved_models: Whether models may be loaded from files.
    is_trained: Whether the run is already trained to its end.
    evaluated: Whether to evaluate the run.
  """
  from launch.runs import evaluation_run  # pylint: disable=g-import-not-at-top

  trust.trust(saved_models=trust_saved_models)
  if not is_trained:
    _run_sequence(data_dir).train(config_checks.read(config), workdir)
  if evaluated:
    evaluation_run.evaluate(workdir, data_dir=data_dir)


@functools.cache
def _run_sequence(data_dir: str | None) -> run_sequence.RunSequence:
  """Returns the sequence of this process, in which runs share traces."""
  from launch.runs import run_sequence  # pylint: disable=g-import-not-at-top

  return run_sequence.RunSequence(data_dir=data_dir)

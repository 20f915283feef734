# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A run of FedFish on digits, trained once for all tests of a process."""

import atexit
import dataclasses
import functools
import pathlib
import shutil
import tempfile

from tests.launch import binary_runner
from tests.launch import small_configs

_CONFIGS = pathlib.Path(__file__).resolve().parents[2] / 'launch' / 'configs'

COHORT_SIZE = 3
FLAGS = (
  f'--config={_CONFIGS / "digits.py"}:fed_fish',
  '--config.rounds=2',
  f'--config.cohort_size={COHORT_SIZE}',
  '--config.local_epochs=1',
  '--config.checkpoint_every=1',
  '--config.evaluate_every=1',
  '--config.evaluation.personalization_epochs=1',
  '--config.evaluation.half_way_checkpoint=True',
  '--config.task.num_clients=12',
  '--config.task.hidden_units=(8,)',
)


@dataclasses.dataclass(frozen=True)
class TrainedRun:
  """A workdir, which nobody changes, and what launch.train said."""

  workdir: pathlib.Path
  outcome: binary_runner.Outcome

  def copy_to(self, workdir: pathlib.Path) -> pathlib.Path:
    """Copies the workdir for a test that changes it; returns the copy."""
    return pathlib.Path(shutil.copytree(self.workdir, workdir))


def run_train(*arguments: str) -> binary_runner.Outcome:
  """Runs launch.train with the flags of the run, and more, in this process."""
  with small_configs.built_once():
    return binary_runner.run_here('launch.train', *FLAGS, *arguments)


@functools.cache
def fed_fish_on_digits() -> TrainedRun:
  """Returns the run."""
  folder = tempfile.mkdtemp(prefix='fedfish_tff_')
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  workdir = pathlib.Path(folder) / 'w'
  return TrainedRun(workdir, run_train(f'--workdir={workdir}'))

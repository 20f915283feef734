# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Logging of a run's rows to Weights & Biases, an optional package."""

from collections.abc import Mapping
import os
import pathlib
import shutil
from types import ModuleType
from typing import Any
import uuid

from fedfish_tff import errors
from fedfish_tff.simulation import files
from fedfish_tff.simulation import metrics_flattening
from fedfish_tff.simulation import metrics_rows
from fedfish_tff.simulation import workdir as workdir_lib

import tensorflow_federated as tff

# By default wandb reports errors to its authors, and records what is printed,
# the code and the repository's changes, with git processes that run as long as
# ours.
_RESTRAINTS = {
  'WANDB_CONSOLE': 'off',
  'WANDB_DISABLE_CODE': 'true',
  'WANDB_DISABLE_GIT': 'true',
  'WANDB_ERROR_REPORTING': 'false',
}


class WandbManager(tff.program.ReleaseManager[Mapping[str, Any], int]):
  """A `tff.program.ReleaseManager` that logs rows to a run of `wandb`.

  Nothing is sent unless the environment variable `WANDB_MODE` is `online`;
  otherwise, `wandb sync` sends the workdir's folder `wandb`. `WANDB_PROJECT`
  and other variables of `wandb` apply as well.

  A resumed workdir goes on with its run of `wandb`, which has each round once,
  however it was stopped. `wandb` writes late, so rows that it has lost are
  logged again from metrics.csv; offline, all rows are, and replace the earlier
  ones. The run ends with `wandb.finish()`, the next run or the process.
  """

  def __init__(self, workdir: workdir_lib.Workdir) -> None:
    """Begins a run of `wandb`, which must be installed, or resumes it.

    Args:
      workdir: The run's folder, which gives it its name and config.
    """
    wandb = _import_wandb()
    if workdir.wandb_path.is_symlink():
      raise errors.InputError(
        f'{workdir.wandb_path} must be a folder or not exist, got a link.'
      )
    if not workdir.wandb_id_path.exists():
      # A random id, since --overwrite begins another run.
      files.write_atomically(workdir.wandb_id_path, uuid.uuid4().hex.encode())
    run_id = workdir.wandb_id_path.read_text()
    earlier = [
      folder
      for folder in workdir.wandb_path.glob('offline-run-*')
      if folder.name.endswith(f'-{run_id}') and not folder.is_symlink()
    ]
    self._run = wandb.init(
      dir=str(workdir.path),
      name=workdir.path.resolve().name,
      id=run_id,
      config=workdir.read_config(),
      mode=os.environ.get('WANDB_MODE', 'offline'),
      resume='allow',
      reinit=True,
    )
    if workdir.metrics_path.exists():
      cells = metrics_rows.read_cells(workdir.metrics_path)
      for row in metrics_rows.to_rows(cells.columns, cells.rows):
        self._log(row, row.pop(metrics_rows.ROUND_COLUMN))
    for folder in earlier:
      if not folder.samefile(pathlib.Path(self._run.dir).parent):
        shutil.rmtree(folder)

  async def release(self, value: Mapping[str, Any], key: int) -> None:
    """Logs the row of a round unless the run has it.

    Args:
      value: Numbers by column name.
      key: The round, which is the step.
    """
    row = {
      name: metrics_flattening.to_number(number)
      for name, number in value.items()
    }
    self._log(row, key)

  def _log(self, row: Mapping[str, int | float], round_number: int) -> None:
    # The step is one past the last row, even of an earlier process.
    if round_number >= self._run.step:
      self._run.log(dict(row), step=round_number, commit=True)


def _import_wandb() -> ModuleType:
  """Returns wandb, set to report no more than it is asked to."""
  for name, value in _RESTRAINTS.items():
    os.environ.setdefault(name, value)
  try:
    # Imported here, since it is optional.
    import wandb  # pylint: disable=g-import-not-at-top

    return wandb
  except ImportError as error:
    raise errors.InputError(
      f'wandb cannot be imported ({error}); `pip install wandb` installs it '
      "('wandb<0.19' beside TensorFlow 2.14)."
    ) from error

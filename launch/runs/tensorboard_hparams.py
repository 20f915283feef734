# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What TensorBoard's HPARAMS tab compares runs by: their fields and scores."""

from collections.abc import Mapping
import hashlib
import math
from typing import Any

from fedfish_tff import simulation
from fedfish_tff.simulation import files
from launch.methods import config as config_lib
from launch.methods import config_checks

import tensorflow as tf

# Of the file's name, by which it is found again.
_SUFFIX = '.hparams'
# Of the config's digest, which tell runs of one name apart.
_DIGITS = 8


def write(
  folder: simulation.Workdir,
  config: config_lib.Config,
  summary: Mapping[str, Any],
) -> None:
  """Writes a finished run's fields and test figures, in place of earlier ones.

  Args:
    folder: The run's.
    config: The config.
    summary: What is in its summary.json.

  Raises:
    errors.InputError: If they cannot be written.
  """
  for earlier in folder.tensorboard_path.glob(f'*{_SUFFIX}'):
    earlier.unlink()
  try:
    _write(folder, config, summary)
  except tf.errors.OpError as error:
    raise files.unwritable_error(folder.tensorboard_path, error) from error


def _write(
  folder: simulation.Workdir,
  config: config_lib.Config,
  summary: Mapping[str, Any],
) -> None:
  # TensorBoard takes a while to be imported.
  from tensorboard.plugins.hparams import api  # pylint: disable=g-import-not-at-top

  digest = hashlib.sha256(folder.config_path.read_bytes()).hexdigest()
  writer = tf.summary.create_file_writer(
    str(folder.tensorboard_path), filename_suffix=_SUFFIX
  )
  with writer.as_default(step=summary['rounds']):
    api.hparams(
      {
        name: value
        if isinstance(value, (bool, int, float, str))
        else str(value)
        for name, value in config_checks.flatten(config.values).items()
      },
      # What a run is called there; runs of one id would be averaged.
      trial_id=f'{folder.path.resolve().name}-{digest[:_DIGITS]}',
      # The same however often it is written.
      start_time_secs=folder.config_path.stat().st_mtime,
    )
    for name, value in summary['test'].items():
      tf.summary.scalar(f'test/{name}', math.nan if value is None else value)
  writer.close()

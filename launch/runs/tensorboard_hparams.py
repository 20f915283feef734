# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The fields and scores of a run for TensorBoard's HPARAMS tab."""

from collections.abc import Mapping
import hashlib
import math
from typing import Any

from fedfish_tff import simulation
from fedfish_tff.simulation import files
from launch import json_config
from launch.methods import config as config_lib

import tensorflow as tf

# The end of the file's name, by which an earlier file is found.
_SUFFIX = '.hparams'
# The number of digits of the config's digest, which distinguishes runs of one
# name.
_DIGITS = 8


def write(
  folder: simulation.Workdir,
  config: config_lib.Config,
  summary: Mapping[str, Any],
) -> None:
  """Writes a finished run's fields and test scores, replacing earlier ones.

  Args:
    folder: The workdir of the run.
    config: The config.
    summary: The content of its summary.json.

  Raises:
    errors.InputError: If they cannot be written.
  """
  # TensorBoard takes a while to be imported.
  from tensorboard.plugins.hparams import api  # pylint: disable=g-import-not-at-top

  for earlier in folder.tensorboard_path.glob(f'*{_SUFFIX}'):
    earlier.unlink()
  digest = hashlib.sha256(folder.config_path.read_bytes()).hexdigest()
  try:
    writer = tf.summary.create_file_writer(
      str(folder.tensorboard_path), filename_suffix=_SUFFIX
    )
    with writer.as_default(step=summary['rounds']):
      api.hparams(
        {
          name: value
          if isinstance(value, (bool, int, float, str))
          else str(value)
          for name, value in json_config.flatten(config.values).items()
        },
        # Runs with the same identifier would be averaged.
        trial_id=f'{folder.path.resolve().name}-{digest[:_DIGITS]}',
        # A time that is the same whenever the file is written.
        start_time_secs=folder.config_path.stat().st_mtime,
      )
      for name, value in summary['test'].items():
        tf.summary.scalar(f'test/{name}', math.nan if value is None else value)
    writer.close()
  except tf.errors.OpError as error:
    raise files.unwritable_error(folder.tensorboard_path, error) from error

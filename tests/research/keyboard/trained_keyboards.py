# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Keyboards that were trained on a few sentences, once for all tests."""

import atexit
import functools
import pathlib
import shutil
import tempfile

from launch.configs import keyboard
from tests import grouped_clients
from tests.launch import small_configs

# What follows a word here is always the same, but for the ends.
TEXTS = {
  'train': {
    f'user-{i}': ['Roses are red. Violets are blue.'] * 4 for i in range(4)
  },
  'validation': {'one': ['Roses are red.']},
  'held_out': {
    'two': ['Violets are blue.', 'Roses are mine.'],
    'three': ['Roses are red.'],
  },
}


@functools.cache
def folder() -> pathlib.Path:
  """Returns the folder of the users and the workdirs."""
  made = pathlib.Path(tempfile.mkdtemp(prefix='fedfish_tff_'))
  atexit.register(shutil.rmtree, made, ignore_errors=True)
  grouped_clients.write_folder(made / 'users', TEXTS)
  return made


def data_dir() -> str:
  """Returns the folder of the users."""
  return str(folder() / 'users')


@functools.cache
def train(axes: str = '', vocabulary_size: int = 2000) -> pathlib.Path:
  """Returns the workdir of a keyboard that knows its sentences.

  Args:
    axes: The end of the variant, such as `',training=central'`.
    vocabulary_size: The largest number of words.
  """
  config = keyboard.get_config(f'fed_avg,size=compact{axes}').to_dict()
  config['task'] |= {'embedding': 8, 'units': 16, 'sentence_length': 4}
  config['task']['vocabulary_size'] = vocabulary_size
  config |= {'rounds': 12, 'local_epochs': 10, 'evaluate_every': 12}
  config |= {'server_learning_rate': 1.0, 'batch_size': 4}
  config['algorithm']['server_optimizer'] = 'sgd'
  if not config['task']['central']:
    config['cohort_size'] = 4
  workdir = folder() / f'w{axes}{vocabulary_size}'
  small_configs.train(config, workdir, data_dir=data_dir())
  return workdir

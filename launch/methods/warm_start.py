# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `warm_start`: initial weights from a run or a file."""

from __future__ import annotations

import dataclasses
import typing

from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from launch.methods import block
from launch.methods import building
from launch.methods import config as config_lib

if typing.TYPE_CHECKING:
  from tasks.task import Task


def _start_task(parts: building.Ingredients, task: Task) -> Task:
  weights = parts.start_weights
  if weights is None:
    raise errors.InputError(
      'The config has a block warm_start, whose weights only launch.train reads.'
    )
  return dataclasses.replace(
    task, create_model=lambda: models.with_weights(task.create_model(), weights)
  )


BLOCK = block.Block(
  name='warm_start',
  help='a model that begins with the weights of another run or of a file, which '
  'the workdir then keeps',
  fields={
    'path': fields.Field(
      '',
      fields.text,
      'The workdir of a run, whose global model it is, or a file of weights: '
      '.npz, .safetensors, or .h5 or .keras of Keras 2 or 3.',
    )
  },
  presets={'model': {}},
  supports='learning_rates',
  refuse=block.refuse_sized,
  goes_with=(
    block.Rule('adapters', (), 'which freezes the weights of the task'),
    block.Rule('fine_tuning', (), 'which has a start of its own'),
  ),
  build={building.TASK: _start_task},
  after=('batch_normalization',),
  start=lambda config: config_lib.Origin(path=config.blocks['warm_start'].path),
)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `batch_normalization`: what becomes of its statistics."""

from __future__ import annotations

from collections.abc import Mapping
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

_NAME = 'batch_normalization'
AVERAGED, KEPT, FROZEN = 'averaged', 'kept', 'frozen'


def kept_tensors(parts: building.Ingredients) -> tuple[bool, ...]:
  """Returns whether clients keep each trainable tensor, as FedBN's do.

  The result is empty for a config whose clients keep none.
  """
  own = parts.config.blocks.get(_NAME)
  if own is None or own.statistics != KEPT:
    return ()
  return parts.model.normalization_tensors


def _freeze(parts: building.Ingredients, task: Task) -> Task:
  """Returns the task, with frozen statistics if the block says so."""
  if not models.has_statistics(task.create_model()):
    raise errors.InputError(
      f'The config must have no block {_NAME} for task {task.name!r}, whose '
      'model has no batch normalisation with statistics that training changes.'
    )
  if parts.config.blocks[_NAME].statistics != FROZEN:
    return task
  return dataclasses.replace(task, freeze_statistics=True)


def _label(config: config_lib.Config, name: str) -> str:
  if config.blocks[_NAME].statistics != KEPT:
    return name
  # Li et al. (2021): FedAvg but for batch normalisation.
  return 'FedBN' if name == 'FedAvg' else f'{name}, own batch normalization'


def _deviations(config: config_lib.Config) -> Mapping[str, str]:
  if config.blocks[_NAME].statistics != FROZEN:
    return {}
  return {f'{_NAME}.statistics': 'frozen batch normalization'}


_KEPT = {'statistics': (KEPT,)}
BLOCK = block.Block(
  name=_NAME,
  help='the moving means and variances of batch normalisation in Keras models; '
  'averaged is what a config without the block does, and kept makes FedBN of '
  'FedAvg',
  fields={
    'statistics': fields.Field(
      AVERAGED,
      fields.one_of(AVERAGED, KEPT, FROZEN),
      'averaged: the server averages them with the weights; kept: each client '
      'keeps them, with scales and offsets; frozen: they stay as they are, in '
      'training, too.',
    )
  },
  presets={name: {'statistics': name} for name in (AVERAGED, KEPT, FROZEN)},
  supports='learning_rates',
  refuse=block.refuse_sized,
  only={'statistics': ('client_keeps', (AVERAGED, FROZEN))},
  check=building.check_averaged_statistics,
  goes_with=(
    block.Rule(
      'exchange', (), 'whose clients choose what they keep', when=_KEPT
    ),
    block.Rule(
      'evaluation.barrier',
      (False,),
      'so that there is no one model that all clients start a round from',
      when=_KEPT,
    ),
    block.Rule('fine_tuning', (), 'whose tensors are others', when=_KEPT),
    block.Rule('adapters', (), 'which freezes the weights of the task'),
    block.Rule(
      'warm_start',
      (),
      'whose statistics are those of the task',
      when={'statistics': (FROZEN,)},
    ),
  ),
  sets=(
    block.Rule(
      'evaluation.personalization_epochs',
      fields.POSITIVE,
      'whose clients end up with models of their own',
      when=_KEPT,
    ),
  ),
  label=_label,
  deviations=_deviations,
  keeps_models=lambda own: own.statistics == KEPT,
  # Frozen statistics, and what clients keep first, are built in.
  built_from=lambda config: frozenset({'seed'}),
  build={building.TASK: _freeze},
)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `loops`: what compiles clients' loops over batches."""

from __future__ import annotations

import typing

from fedfish_tff import client_work
from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import simulation
from launch.methods import block
from launch.methods import building
from launch.methods import method as method_lib

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff


class _ContextCheck(simulation.Hook):
  """A hook that refuses execution contexts in which the block does nothing."""

  def before_round(self, round_number: int) -> dict[str, float]:
    if not getattr(datasets.current_runner(), 'compiles_loops', False):
      raise errors.InputError(
        '--context must be cohort, or ray without --platform, for loops=xla, '
        'since local_worker compiles no client work, and devices compile all of '
        'it anyway.'
      )
    return super().before_round(round_number)


def _build(
  parts: building.Ingredients, optimizer: tff.learning.optimizers.Optimizer
) -> tff.learning.optimizers.Optimizer:
  del parts
  return client_work.compile_loops(optimizer)


def _refuse(method: method_lib.Method) -> str:
  if method.steps_at_server:
    return 'its clients take no steps'
  return block.refuse_sized(method)


BLOCK = block.Block(
  name='loops',
  help="clients' loops over batches, compiled by XLA in --context=cohort and on "
  "Ray's actors without devices, which takes less time for small models of dense "
  'layers from about a hundred rounds on; results agree up to rounding',
  fields={
    'name': fields.Field(
      'xla', fields.one_of('xla'), 'The compiler of the loops.'
    )
  },
  presets={'xla': {}},
  supports='learning_rates',
  refuse=_refuse,
  after=('fine_tuning',),
  built_from=block.of_own_fields,
  build={building.CLIENT_OPTIMIZER: _build},
  hooks=lambda experiment: [_ContextCheck()],
)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `evaluation`: what a run's evaluations measure; all configs have it."""

from __future__ import annotations

from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import simulation
from launch.methods import block
from launch.methods import config as config_lib


def _check(config: config_lib.Config) -> None:
  own = config.evaluation
  # A method that trains no model is refused with this reason elsewhere.
  if (
    own.judged_by == 'fine_tuned'
    and not own.personalization_epochs
    and 'learning_rates' in config.method.supports
  ):
    raise errors.InputError(
      'evaluation.personalization_epochs must be a positive integer for '
      "evaluation.judged_by 'fine_tuned', got 0."
    )


def _hooks(experiment: block.Experiment) -> list[simulation.Hook]:
  barrier = experiment.build_barrier()
  return [] if barrier is None else [simulation.Barrier(barrier)]


BLOCK = block.Block(
  name='evaluation',
  help='scores of held-out clients and of the cohort',
  fields={
    'personalization_epochs': fields.Field(
      1,
      fields.integer(0),
      "Epochs on half of a held-out client's data, with scores on the other "
      'half; 0 to leave out personalisation. Methods whose clients end up with '
      'models of their own have 1 or more, unless the command sets 0; judged_by '
      'auto is then global.',
    ),
    'personalization_learning_rates': fields.Field(
      (),
      fields.numbers,
      'The rates of these epochs, of which validation clients choose the best; '
      'empty for client_learning_rate.',
      goes_with={'personalization_epochs': fields.POSITIVE},
    ),
    'judged_by': fields.Field(
      'auto',
      fields.one_of('auto', 'global', 'fine_tuned'),
      'The model whose score on held-out clients judges runs: the best round, '
      "early stopping, tuning, tables and plots go by it. global: the server's; "
      'fine_tuned: that model after these epochs; auto: fine_tuned for methods '
      'whose clients end up with models of their own, such as fed_rep.',
    ),
    'barrier': fields.Field(
      True,
      fields.boolean,
      "Whether to measure the client-server barrier on the round's cohort.",
    ),
    'half_way_checkpoint': fields.Field(
      False,
      fields.boolean,
      'Whether the run keeps the checkpoint of its half-way round, for '
      'launch.evaluate --at=half and --targets.',
    ),
  },
  only={
    'barrier': ('barrier', (False,)),
    'personalization_epochs': ('learning_rates', (0,)),
    'judged_by': ('learning_rates', ('auto', 'global')),
  },
  in_all_configs=True,
  check=_check,
  in_loop=True,
  hooks=_hooks,
)

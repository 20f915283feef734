# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A config's block `participation`: which clients come in a round.

Plain Python, without TensorFlow, which comes with the cohorts of a task.
"""

from __future__ import annotations

from collections.abc import Mapping
import typing
from typing import Any

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.methods import fields

if typing.TYPE_CHECKING:
  from tasks.task import Task

# Each client counts once.
VISITS = ('visit_once', 'first_visits')
FIELDS: Mapping[str, fields.Field] = {
  'name': fields.Field(
    'uniform',
    fields.one_of('uniform', *VISITS),
    'uniform: cohorts drawn anew; visit_once: every client in turn; '
    'first_visits: as uniform, without those who came before.',
  )
}


def create_participation(
  config: Mapping[str, Any], task: Task
) -> simulation.Participation:
  """Returns the cohort of each round.

  Args:
    config: A checked config.
    task: Its task.

  Raises:
    errors.InputError: If there are fewer clients than the config asks for.
  """
  client_ids = task.train.client_ids
  name = config['participation']['name']
  arguments = dict(cohort_size=config['cohort_size'], seed=config['seed'])
  if name == 'uniform':
    return simulation.uniform_participation(client_ids, **arguments)
  if name == 'first_visits':
    return simulation.first_visits(
      simulation.uniform_participation(client_ids, **arguments)
    )
  needed = simulation.count_visiting_rounds(
    len(client_ids), cohort_size=config['cohort_size']
  )
  if config['rounds'] > needed:
    raise errors.InputError(
      f'rounds is {config["rounds"]}, but participation visit_once has seen '
      f'all {len(client_ids)} training clients after {needed}; at most '
      f'{needed} was expected.'
    )
  return simulation.visit_once_participation(client_ids, **arguments)

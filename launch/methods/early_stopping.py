# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `early_stopping`: the end of a run and the model that it keeps.

Validation clients decide; test clients never do.
"""

from collections.abc import Mapping
import importlib.util
import pathlib
from typing import Any

from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import simulation
from fedfish_tff.evaluation import metric_names
from launch.methods import block
from launch.methods import config as config_lib
from launch.methods import config_fields

# `eval/own*` is left out: it scores training clients on their test data.
_TUNED_COLUMNS = ('eval/personalized/', 'eval/new_fine_tuned/')
_COLUMNS = ('eval/global/', 'eval/new_global/', *_TUNED_COLUMNS)
_HIGHER_IS_BETTER = {'max': True, 'min': False}


def _check_metric(name: str, value: Any) -> None:
  fields.text(name, value)
  if value and not value.startswith(_COLUMNS):
    raise errors.unexpected(
      name,
      value,
      "a column of validation clients, such as eval/global/loss, or ''",
    )


_FIELDS: Mapping[str, fields.Field] = {
  'metric': fields.Field(
    '',
    _check_metric,
    "The column of metrics.csv that decides; '' for the one by which runs are "
    'judged.',
  ),
  'mode': fields.Field(
    'auto',
    fields.one_of('auto', *_HIGHER_IS_BETTER),
    'Whether the largest value is the best or the smallest. auto: by the '
    "metric, such as the smallest loss, and the task's as the task says.",
  ),
  'patience': fields.Field(
    5,
    fields.integer(0),
    'The run stops after so many evaluations, one after the other, that are no '
    'better than the best before them; 0 to train for all rounds.',
  ),
  'min_delta': fields.Field(
    0.0,
    fields.number(positive=False),
    'By how much more than this a value has to be better, for the patience.',
    goes_with={'patience': fields.POSITIVE},
  ),
  'restore_best': fields.Field(
    True,
    fields.boolean,
    "Whether the run's model, in summary.json and for launch.evaluate, is that "
    'of the best evaluation; else it is the last one.',
  ),
}


def _check(config: config_lib.Config) -> None:
  metric, task = config.blocks['early_stopping'].metric, config.task['name']
  if not metric:
    return
  if (
    metric.startswith(_TUNED_COLUMNS)
    and not config.evaluation.personalization_epochs
  ):
    raise errors.InputError(
      'evaluation.personalization_epochs must be a positive integer for '
      f'early_stopping.metric {metric!r}, got 0.'
    )
  if _is_task_of_this_package(task) and not metric_names.is_known(metric):
    raise errors.unexpected(
      'early_stopping.metric',
      metric,
      f'a metric of task {task}, such as eval/global/loss,',
    )


def _is_task_of_this_package(name: str) -> bool:
  """Returns whether a task is in `tasks`; other tasks may have any metrics."""
  (folder,) = importlib.util.find_spec('tasks').submodule_search_locations
  return name in (path.stem for path in pathlib.Path(folder).glob('*/*.py'))


def _hooks(experiment: block.Experiment) -> list[simulation.Hook]:
  own = experiment.config.blocks['early_stopping']
  column = own.metric or experiment.judged_column
  return [
    simulation.EarlyStopping(
      column,
      higher_is_better=direction(
        own,
        column,
        judged=experiment.judged_column,
        higher_is_better=experiment.task.higher_is_better,
      ),
      patience=own.patience,
      min_delta=own.min_delta,
    )
  ]


def direction(
  own: config_fields.Values, column: str, *, judged: str, higher_is_better: bool
) -> bool:
  """Returns whether higher values of the deciding column are better.

  Args:
    own: The block of a config.
    column: The column of metrics.csv that decides.
    judged: The column by which runs are judged.
    higher_is_better: Whether higher values of `judged` are better.
  """
  if own.mode != 'auto':
    return _HIGHER_IS_BETTER[own.mode]
  if column.rpartition('/')[2] == judged.rpartition('/')[2]:
    return higher_is_better
  return metric_names.higher_is_better(column)


def _deviations(config: config_lib.Config) -> dict[str, str]:
  """Returns words for a result that is not that of a fixed last round."""
  own = config.blocks['early_stopping']
  if own.patience:
    return {'early_stopping.patience': 'early stopping'}
  if own.restore_best:
    return {'early_stopping.restore_best': 'best round'}
  return {}


def _summary(outcome: block.Outcome) -> dict[str, Any]:
  """Returns the deciding column and its best round."""
  stopping = outcome.stopping
  return {
    'early_stopping': {
      'metric': stopping.column,
      'best_round': stopping.best_round,
    }
  }


BLOCK = block.Block(
  name='early_stopping',
  help='a run that stops once validation clients gain nothing any more, or '
  'trains for all rounds (keep_best); its model is then the best one',
  fields=_FIELDS,
  presets={'stop': {}, 'keep_best': {'patience': 0}},
  supports='learning_rates',
  check=_check,
  deviations=_deviations,
  in_loop=True,
  hooks=_hooks,
  restores_best=lambda config: config.blocks['early_stopping'].restore_best,
  summary=_summary,
)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which figures a sweep over the share of sent weights ends in."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import functools
import math
from typing import Any

from launch.methods import exchange as exchange_lib
from launch.plots import exchange_share
from launch.plots import request as request_lib
from launch.plots import style
from launch.results import run_notes
from launch.results import run_reader
from launch.results import sweep_results

SHARE = 'exchange.share'
_EXCHANGE = 'exchange.'
_DIRECTION = 'exchange.direction'
_VARIANT = 'variant'
_F1 = 'f1_'
_BYTES = 'total/payload_bytes'
_REFERENCE = 'All is sent'
# Whose scores, by the prefix of their columns: the server's model, and those of
# clients that keep what nobody has sent.
_MODELS = {
  'test/global/': 'on test data',
  'test/clients/': "of the clients' own models on test data",
}

# Scores of the seeds by share, by the line's label, by the panel's title.
_Panels = dict[str, dict[str, dict[float, list]]]


def is_over_shares(groups: Sequence[sweep_results.Group]) -> bool:
  """Whether a sweep's runs differ in the share that is sent.

  Args:
    groups: Its groups.
  """
  return len({_share(g) for g in groups if SHARE in g.fields}) > 1


def plan(groups: Sequence[sweep_results.Group]) -> dict[str, functools.partial]:
  """Returns the figures of a sweep over shares, by the names of their files.

  In each, the share runs along the axis. Lines are the rules of the exchange
  and the variants, panels the values of the other fields. Where everything is
  sent, the rules do not matter: such runs are part of all lines of their
  variant that have no run of their own there.

  Args:
    groups: The sweep's groups.
  """
  runs = [run for group in groups for run in group.runs if run.is_finished]
  metric = sweep_results.common_metric(runs)
  if metric is None:
    return {}
  task = f' ({runs[0].task})'
  pooling = 'lines are their means'
  shaded = f'{pooling}, bands from the lowest to the highest'
  x_label = f'Share of the {_what_is_shared(groups)} that are sent'
  figures = {}
  for prefix, whose in _MODELS.items():
    column = prefix + metric
    name = f'share_{prefix.split("/")[1]}'
    title = f'{style.metric_title(metric)} {whose}'

    def add(suffix: str, rows: Mapping[str, _Panels], name=name, **fields: Any):
      if any(rows.values()):
        figures[request_lib.slug(f'{name}_{suffix}')] = functools.partial(
          exchange_share.plot_scores,
          **{
            'rows': rows,
            'metric': metric,
            'x_label': x_label,
            'note': run_notes.describe_groups(groups, shaded),
            **fields,
          },
        )

    panels = _collect(groups, lambda run, c=column: run.values.get(c))
    add(metric, {'': panels}, title=title + task, reference=_REFERENCE)
    add(
      'f1',
      _class_scores(groups, prefix),
      metric='F1',
      title=f'F1 of each class {whose}{task}',
      # The seeds' ranges of several classes would cover each other.
      shaded=False,
      note=run_notes.describe_groups(groups, pooling),
    )
    by_bytes = _collect(
      groups, lambda run, c=column: _pair(run.values, _BYTES, c)
    )
    add(
      f'{metric}_by_bytes',
      {'': by_bytes},
      title=f'{title} against what clients have sent, a point for each share'
      f'{task}',
      x_label='Sent by all clients',
      in_bytes=True,
    )
  return figures


def _share(group: sweep_results.Group) -> float:
  """Returns the share of a group's tensors that are sent."""
  return float(group.fields.get(SHARE, 1.0))


def _what_is_shared(groups: Sequence[sweep_results.Group]) -> str:
  kinds = {
    exchange['selection']
    for group in groups
    if (exchange := group.runs[0].config.get('exchange'))
  }
  return 'weights' if 'coordinates' in kinds else 'tensors'


def _class_scores(
  groups: Sequence[sweep_results.Group], prefix: str
) -> dict[str, _Panels]:
  """Returns panels of classes by the label of what would be a line."""
  columns = dict.fromkeys(
    column
    for group in groups
    for run in group.runs
    for column in run.values
    if column.startswith(prefix + _F1) and not column.endswith('_std')
  )
  rows: dict[str, _Panels] = {}
  for column in columns:
    class_name = column.removeprefix(prefix + _F1).replace('_', ' ')
    scores = _collect(groups, lambda run, c=column: run.values.get(c))
    for panel, lines in scores.items():
      for label, line in lines.items():
        row = rows.setdefault(label, {})
        row.setdefault(panel, {})[class_name] = line
  return rows


def _collect(
  groups: Sequence[sweep_results.Group],
  value: Callable[[run_reader.Run], Any],
) -> _Panels:
  """Returns the values of finished runs by panel, line and share."""
  panels: _Panels = {}
  # Where all is sent, by panel, variant and what is not the direction.
  whole: dict[str, dict[str, dict[str, list]]] = {}
  # Of each line, its variant and what is not the direction.
  kinds: dict[str, tuple[str, str]] = {}
  line_fields, panel_fields = _divide_fields(groups)
  without_direction = [f for f in line_fields if f != _DIRECTION]
  for group in groups:
    panel = _describe(group, panel_fields)
    found = [v for run in group.runs if (v := value(run)) is not None]
    if not found:
      continue
    kind = _describe(group, without_direction)
    if _share(group) == 1:
      ends = whole.setdefault(panel, {}).setdefault(group.variant, {})
      ends[kind] = found
      continue
    label = _describe(group, line_fields)
    kinds[label] = group.variant, kind
    lines = panels.setdefault(panel, {})
    lines.setdefault(label, {})[_share(group)] = found
  for panel, variants in whole.items():
    lines = panels.setdefault(panel, {})
    for variant, ends in variants.items():
      own = [label for label in lines if kinds[label][0] == variant]
      for label in own:
        _, kind = kinds[label]
        lines[label][1.0] = ends.get(kind) or next(iter(ends.values()))
      if not own:
        kinds.update({kind: (variant, kind) for kind in ends})
        lines.update({kind: {1.0: end} for kind, end in ends.items()})
  return panels


def _divide_fields(
  groups: Sequence[sweep_results.Group],
) -> tuple[list[str], list[str]]:
  """Returns the fields that make lines, and those that make panels."""
  fields = dict.fromkeys(field for group in groups for field in group.fields)
  lines = [f for f in fields if f.startswith(_EXCHANGE) and f != SHARE]
  if len({group.variant for group in groups}) > 1:
    lines.insert(0, _VARIANT)
  tuned = () if sweep_results.varies_rates(groups) else sweep_results.RATES
  panels = [f for f in fields if not f.startswith(_EXCHANGE) and f not in tuned]
  return lines, panels


def _describe(group: sweep_results.Group, fields: Sequence[str]) -> str:
  """Returns a group's values of some fields as a label has them."""
  parts = []
  for field in fields:
    if field == _VARIANT:
      text = group.variant.replace(',', ', ').replace('=', ' ')
      parts.append(text.replace('_', ' '))
    elif field in group.fields:
      parts.append(_describe_field(field, group.fields[field]))
  return ', '.join(parts)


def _describe_field(field: str, value: Any) -> str:
  name = field.rpartition('.')[2].replace('_', ' ')
  if isinstance(value, float):
    value = f'{value:g}'
  if field == _DIRECTION:
    return f'{value} drift'
  if field == f'{_EXCHANGE}unsent':
    return {
      exchange_lib.SERVER_KEEPS: 'server keeps the unsent',
      exchange_lib.CLIENT_KEEPS: 'clients keep the unsent',
    }[value]
  return f'{name} {value}'


def _pair(
  values: Mapping[str, float], one: str, other: str
) -> tuple[float, float] | None:
  pair = values.get(one, math.nan), values.get(other, math.nan)
  return pair if all(map(math.isfinite, pair)) else None

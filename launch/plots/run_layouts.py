# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The layouts of figures 3, 4, 5 and 6 of FedFish and figure 3 of SRPFL."""

from collections.abc import Sequence

from fedfish_tff import errors
from launch import plain_text
from launch.plots import barrier
from launch.plots import curves
from launch.plots import local_epochs
from launch.plots import paper_style
from launch.plots import stragglers
from launch.plots import style
from launch.plots import transfer
from launch.results import frames as frames_lib
from launch.results import settings as settings_lib
from launch.results import straggler_lines

# More methods cannot be distinguished.
_MAX_METHODS = 8

Drawings = dict[str, paper_style.Drawing]

_STRAGGLERS = 'stragglers'
# The runs that a layout needs, with places for the metric.
_NEEDED = {
  'fixed_compute': (
    'with {metric}, of one task, with several values of local_epochs and equal '
    'products of rounds and local_epochs'
  ),
  'local_epochs': (
    'of one task with several values of local_epochs, equal rounds (or rounds '
    'times local_epochs), and {name} on validation or test clients'
  ),
  'barrier': (
    'of FedAvg (or FedSGD) and of another method, of one task, with csb/{name} '
    'at common seeds, local_epochs and rounds'
  ),
  'transfer': (
    'with {name} in evaluation/transfer.csv, which launch.evaluate --targets '
    'writes'
  ),
  _STRAGGLERS: 'with simulated time and {metric}',
}
# The layouts that are drawn at fixed rounds and at fixed compute.
_VIEWS = {
  'local_epochs': ('local_epochs', local_epochs.plot_local_epochs),
  'barrier': ('barrier_panels', barrier.plot_barrier_panels),
  'transfer': ('transfer', transfer.plot_transfer),
}
LAYOUTS = tuple(_NEEDED)


def draw_layouts(
  frames: frames_lib.Frames,
  layouts: Sequence[str],
  metric: str,
  x_axes: Sequence[str],
  communication_seconds: Sequence[float] = stragglers.COMMUNICATION_SECONDS,
) -> Drawings:
  """Returns the drawings of layouts by the names of their files.

  Args:
    frames: The labelled runs.
    layouts: The names of layouts from `LAYOUTS`. A single layout must be
      possible; of several, impossible ones and those with too many methods are
      left out.
    metric: A column of metrics.csv.
    x_axes: The x axes of curves, from `curves.X_AXES`.
    communication_seconds: The seconds that messages add to each round; see
      `stragglers.plot_stragglers`.

  Raises:
    errors.InputError: If the runs do not suit the only layout, or have too many
      methods for all layouts.
  """
  settings = settings_lib.read_settings(frames)
  lines = []
  if _STRAGGLERS in layouts:
    lines = straggler_lines.read_lines(frames, metric)
  methods = settings_lib.unique(s.method for s in settings)
  # There, lines of one method with different participation share a colour.
  bases = settings_lib.unique(line.base for line in lines)
  drawings, too_many = {}, []
  for layout in layouts:
    shown = bases if layout == _STRAGGLERS else methods
    if len(shown) > _MAX_METHODS:
      too_many = shown
      continue
    if layout == _STRAGGLERS:
      drawn = _draw_stragglers(lines, metric, communication_seconds)
    else:
      drawn = _draw(layout, settings, metric, x_axes)
    if not drawn and len(layouts) == 1:
      name = metric.rpartition('/')[2]
      raise errors.InputError(
        f'The layout {layout} needs runs '
        f'{_NEEDED[layout].format(metric=metric, name=name)}; the workdirs '
        f'have: {_describe(settings)}.'
      )
    drawings.update(drawn)
  if too_many and not drawings:
    raise errors.InputError(
      f'A layout shows at most {_MAX_METHODS} methods, and the workdirs have '
      f'{len(too_many)}: {"; ".join(too_many[:4])}; ...'
    )
  return drawings


def _draw(
  layout: str,
  settings: settings_lib.Settings,
  metric: str,
  x_axes: Sequence[str],
) -> Drawings:
  compute = settings_lib.fixed_compute(settings)
  if layout == 'fixed_compute':
    found = {
      f'{layout}_{metric}_by_{x}': curves.plot_fixed_compute(
        compute, metric, x=x
      )
      for x in x_axes
    }
  else:
    file_name, plot = _VIEWS[layout]
    name = metric.rpartition('/')[2]
    views = {
      '_fixed_rounds': settings_lib.fixed_rounds(settings),
      '_fixed_compute': compute,
    }
    # Without several local epochs there is one figure for all settings.
    if layout != 'local_epochs' and not any(views.values()):
      views = {'': settings}
    found = {
      f'{file_name}_{name}{view}': plot(kept, name)
      for view, kept in views.items()
    }
  return {
    style.slug(name): drawing for name, drawing in found.items() if drawing
  }


def _draw_stragglers(
  lines: Sequence[straggler_lines.Line], metric: str, costs: Sequence[float]
) -> Drawings:
  return {
    style.slug(f'{_STRAGGLERS} {metric} {conditions}'): drawing
    for conditions, drawing in stragglers.plot_stragglers(lines, costs).items()
  }


def _describe(settings: settings_lib.Settings) -> str:
  shown = [
    f'{s.method} on {s.task}, local_epochs {s.local_epochs}, rounds {s.rounds}'
    for s in settings
  ]
  more = f'; and {len(shown) - 4} more' if len(shown) > 4 else ''
  return '; '.join(shown[:4]) + more


def format_captions(drawings: Drawings) -> str:
  """Returns the captions as text, each after the name of its figure."""
  return plain_text.lines(
    ''.join(
      f'{name}\n{drawing.caption}\n\n' for name, drawing in drawings.items()
    )
  )

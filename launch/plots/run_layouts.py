# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The layouts of the FedFish paper's figures 3, 4, 5 and 6, from any runs."""

from collections.abc import Callable
from collections.abc import Sequence

from fedfish_tff import errors
from launch.plots import barrier_panels
from launch.plots import fixed_compute
from launch.plots import local_epochs
from launch.plots import paper_style
from launch.plots import run_plots
from launch.plots import transfer
from launch.results import run_reader
from launch.results import settings as settings_lib

LAYOUTS = ('fixed_compute', 'local_epochs', 'barrier', 'transfer')
# More cannot be told apart.
_MAX_METHODS = 8

_VIEWS = {
  'fixed_rounds': settings_lib.fixed_rounds,
  'fixed_compute': settings_lib.fixed_compute,
}

Drawings = dict[str, paper_style.Drawing]


def draw_layouts(
  runs: Sequence[run_reader.Run],
  layouts: Sequence[str],
  metric: str,
  x_axes: Sequence[str],
) -> Drawings:
  """Draws layouts, by the names of their files.

  Args:
    runs: The runs.
    layouts: Of `LAYOUTS`. One that is asked for alone has to be possible; of
      several, those that are not are left out.
    metric: A column of metrics.csv.
    x_axes: Of `curves.X_AXES`.

  Raises:
    errors.InputError: If the runs do not make the only layout, or have more
      methods than can be told apart.
  """
  settings = settings_lib.read_settings(runs)
  methods = settings_lib.unique(s.method for s in settings)
  if len(methods) > _MAX_METHODS:
    raise errors.InputError(
      f'A layout shows at most {_MAX_METHODS} methods, and the workdirs have '
      f'{len(methods)}: {"; ".join(methods[:4])}; ...'
    )
  name = metric.rpartition('/')[2]
  drawings = {}
  for layout in layouts:
    if layout == 'fixed_compute':
      drawn = _draw_fixed_compute(settings, metric, x_axes)
      needed = (
        f'with {metric}, of one task, with several values of local_epochs and '
        'equal products of rounds and local_epochs'
      )
    elif layout == 'local_epochs':
      drawn = _draw_local_epochs(settings, name)
      needed = (
        f'of one task with several values of local_epochs, equal rounds (or '
        f'rounds times local_epochs), and {name} on held-out clients'
      )
    elif layout == 'transfer':
      drawn = _draw_views(settings, layout, name, transfer.plot_transfer)
      needed = (
        f'with {name} in evaluation/transfer.csv, which launch.evaluate '
        '--targets writes'
      )
    else:
      drawn = _draw_views(
        settings, 'barrier_panels', name, barrier_panels.plot_barrier_panels
      )
      needed = (
        f'of FedAvg (or FedSGD) and of another method, of one task, with '
        f'csb/{name} at common seeds, local_epochs and rounds'
      )
    if not drawn and len(layouts) == 1:
      raise errors.InputError(
        f'The layout {layout} needs runs {needed}; the workdirs have: '
        f'{_describe(settings)}.'
      )
    drawings.update(drawn)
  return drawings


def _describe(settings: Sequence[settings_lib.Setting]) -> str:
  shown = [
    f'{s.method} on {s.task}, local_epochs {s.local_epochs}, rounds {s.rounds}'
    for s in settings
  ]
  more = f'; and {len(shown) - 4} more' if len(shown) > 4 else ''
  return '; '.join(shown[:4]) + more


def _draw_fixed_compute(
  settings: Sequence[settings_lib.Setting], metric: str, x_axes: Sequence[str]
) -> Drawings:
  kept = settings_lib.fixed_compute(settings)
  drawings = {}
  for x in x_axes:
    drawing = fixed_compute.plot_fixed_compute(kept, metric, x=x)
    if drawing is not None:
      name = run_plots.slug(f'fixed_compute_{metric}_by_{x}')
      drawings[name] = drawing
  return drawings


def _draw_local_epochs(
  settings: Sequence[settings_lib.Setting], name: str
) -> Drawings:
  drawings = {}
  for view, select in _VIEWS.items():
    drawing = local_epochs.plot_local_epochs(select(settings), name)
    if drawing is not None:
      drawings[run_plots.slug(f'local_epochs_{name}_{view}')] = drawing
  return drawings


def _draw_views(
  settings: Sequence[settings_lib.Setting],
  layout: str,
  name: str,
  plot: Callable[..., paper_style.Drawing | None],
) -> Drawings:
  """Draws both views, or all settings where the runs make neither."""
  views = {
    f'{layout}_{name}_{view}': select(settings)
    for view, select in _VIEWS.items()
  }
  if not any(views.values()):
    views = {f'{layout}_{name}': settings}
  drawings = {}
  for slug, kept in views.items():
    drawing = plot(kept, name)
    if drawing is not None:
      drawings[run_plots.slug(slug)] = drawing
  return drawings


def format_captions(drawings: Drawings) -> str:
  """Returns the captions as text, each after its figure's name."""
  return ''.join(
    f'{name}\n{drawing.caption}\n\n' for name, drawing in drawings.items()
  )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The layouts of the FedFish paper's figures 3, 4, 5 and 6, from any runs."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import functools

from fedfish_tff import errors
from launch.plots import barrier_panels
from launch.plots import catalogue
from launch.plots import fixed_compute
from launch.plots import local_epochs
from launch.plots import paper_style
from launch.plots import transfer
from launch.results import run_reader
from launch.results import settings as settings_lib

# More cannot be told apart.
_MAX_METHODS = 8

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
  drawings = {}
  for layout in layouts:
    draw, needed = _LAYOUTS[layout]
    drawn = draw(settings, metric, x_axes)
    if not drawn and len(layouts) == 1:
      needed = needed.format(metric=metric, name=metric.rpartition('/')[2])
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
  return _without_none(
    {
      f'fixed_compute_{metric}_by_{x}': fixed_compute.plot_fixed_compute(
        kept, metric, x=x
      )
      for x in x_axes
    }
  )


def _draw_views(
  settings: Sequence[settings_lib.Setting],
  metric: str,
  _: Sequence[str],
  *,
  plot: Callable[..., paper_style.Drawing | None],
  file_name: str,
  falls_back: bool = True,
) -> Drawings:
  """Draws both views, or all settings where the runs make neither."""
  name = metric.rpartition('/')[2]
  file_name = f'{file_name}_{name}'
  views = {
    f'{file_name}_fixed_rounds': settings_lib.fixed_rounds(settings),
    f'{file_name}_fixed_compute': settings_lib.fixed_compute(settings),
  }
  if falls_back and not any(views.values()):
    views = {file_name: settings}
  return _without_none({file: plot(kept, name) for file, kept in views.items()})


def _without_none(
  drawings: Mapping[str, paper_style.Drawing | None],
) -> Drawings:
  return {catalogue.slug(name): d for name, d in drawings.items() if d}


# How a layout is drawn, and the runs it needs, with places for the metric.
_LAYOUTS = {
  'fixed_compute': (
    _draw_fixed_compute,
    'with {metric}, of one task, with several values of local_epochs and equal '
    'products of rounds and local_epochs',
  ),
  'local_epochs': (
    functools.partial(
      _draw_views,
      plot=local_epochs.plot_local_epochs,
      file_name='local_epochs',
      falls_back=False,
    ),
    'of one task with several values of local_epochs, equal rounds (or rounds '
    'times local_epochs), and {name} on held-out clients',
  ),
  'barrier': (
    functools.partial(
      _draw_views,
      plot=barrier_panels.plot_barrier_panels,
      file_name='barrier_panels',
    ),
    'of FedAvg (or FedSGD) and of another method, of one task, with csb/{name} '
    'at common seeds, local_epochs and rounds',
  ),
  'transfer': (
    functools.partial(
      _draw_views, plot=transfer.plot_transfer, file_name='transfer'
    ),
    'with {name} in evaluation/transfer.csv, which launch.evaluate --targets '
    'writes',
  ),
}
LAYOUTS = tuple(_LAYOUTS)


def format_captions(drawings: Drawings) -> str:
  """Returns the captions as text, each after its figure's name."""
  return ''.join(
    f'{name}\n{drawing.caption}\n\n' for name, drawing in drawings.items()
  )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Bars of the units of FedMA's layers by round: shared or of one client."""

import re

from launch.plots import panels
from launch.plots import style
from launch.results import frames as frames_lib
from launch.results import run_notes

from matplotlib import figure as mpl_figure
from matplotlib import patches
from matplotlib import ticker

_UNITS = re.compile(r'fed_ma/(.+)/units')
_LABELS = ('matched: of several clients', 'new: of one client')


@style.styled
def draw(frames: frames_lib.Frames, _: str) -> dict[str, mpl_figure.Figure]:
  """Draws the server's units of a FedMA run by round, a panel per layer."""
  layers = [m[1] for name in frames.rounds if (m := _UNITS.fullmatch(name))]
  if not layers:
    return {}
  colors = [look['color'] for look in style.series_looks(_LABELS).values()]
  figure, axes = panels.new_grid(layers, (4, 2.6))
  for axis, layer in zip(axes, layers):
    units = frames.column(f'fed_ma/{layer}/units').droplevel(0)
    alone = frames.column(f'fed_ma/{layer}/of_one_client').droplevel(0)
    rounds = units.index
    axis.bar(rounds, units - alone, color=colors[0])
    axis.bar(rounds, alone, bottom=units - alone, color=colors[1])
    axis.grid(False, axis='x')
    axis.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    title = layer.replace('_', ' ').capitalize()
    panels.set_labels(axis, 'Round', "The server's units", title)
  panels.draw_legend(
    figure,
    [patches.Patch(color=c, label=label) for c, label in zip(colors, _LABELS)],
  )
  title = run_notes.name_task('Units that clients share', frames.runs)
  panels.set_figure_title(figure, title)
  return {'matched_units': figure}

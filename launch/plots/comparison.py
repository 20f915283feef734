# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plots of several workdirs, and comparisons of their methods in pairs."""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import os
import pathlib

from fedfish_tff import errors
from fedfish_tff import simulation
from launch import installed
from launch.plots import catalogue
from launch.plots import panels
from launch.plots import style
from launch.results import column_titles
from launch.results import frames as frames_lib
from launch.results import method_comparison
from launch.results import result_table
from launch.results import run_notes
from launch.results import settings as settings_lib
from launch.results import sweep_folder
from launch.results import sweep_results
from launch.results import text_table
from launch.results import transfer_table

import pandas as pd

# More comparisons are only written to a file.
_MAX_PRINTED_COMPARISONS = 60
# The most workdirs that a line names.
_MAX_NAMED = 4


def find_workdirs(
  sweep_dir: str | os.PathLike[str], names: Mapping[str, str] | None = None
) -> tuple[list[pathlib.Path], str]:
  """Finds the workdirs of a sweep's finished runs; prints the other runs.

  Args:
    sweep_dir: The folder of the sweep, of which a run at least is finished.
    names: The names that replace labels of methods; None for none.

  Returns:
    The workdirs, and a note on the other runs, `left_out` of `compare_workdirs`.
  """
  runs = sweep_results.read_results(sweep_folder.SweepFolder(sweep_dir))
  is_finished = runs['is_finished'].astype(bool)
  if not is_finished.any():
    raise errors.InputError(
      f'None of the {len(runs)} runs of {sweep_dir} is finished.'
    )
  others = runs['run'][~is_finished]
  if len(others):
    print(f'Not finished, so not drawn: {", ".join(others)}.')
  left_out = sweep_results.tell_unfinished(runs, names)
  return list(runs['workdir'][is_finished]), left_out


def compare_workdirs(
  workdirs: Sequence[str | os.PathLike[str]],
  folder: pathlib.Path,
  *,
  metric: str | None = None,
  file_format: str = 'png',
  layout: catalogue.Layout | None = None,
  columns: Sequence[str] | None = None,
  names: Mapping[str, str] | None = None,
  setting: str = '',
  left_out: str = '',
  width: str | None = None,
  bare: bool = False,
) -> list[pathlib.Path]:
  """Writes tables and the plots that apply; prints the paths.

  Usual plots that do not apply, but which an earlier call wrote for the metric in
  the format, are removed.

  The results of each method, in methods.csv, methods.md and methods.tex, are
  printed, too, as are the paired differences of its scores, of which
  comparison.csv has more, unless there are many; transfer_table.csv has the
  scores on other tasks.

  Args:
    workdirs: The workdirs of launch.train; those that differ only in the seed
      are pooled.
    folder: The folder for all output; made if it does not exist.
    metric: A column of metrics.csv; None for the usual one.
    file_format: The format of the plots, one of `style.FORMATS`.
    columns: The columns of the table of methods, as for
      `result_table.parse_columns`.
    names: The names that replace labels of methods; None for none.
    setting: The values of fields, for the titles, that distinguish the runs from
      others of their sweep.
    left_out: A note on runs that are left out, for the table and the figures;
      '' for none.
    layout: The layout that is drawn in place of the usual plots, if any.
    width: One of `panels.WIDTHS` for figures as wide as a paper's column or
      page; None for as wide as their panels need.
    bare: Whether titles and notes are in captions.txt instead of figures.

  Returns:
    The paths of the figures.
  """
  frames = frames_lib.read(workdirs, names)
  frames = dataclasses.replace(
    frames.of(frames.runs.assign(setting=setting)), left_out=left_out
  )
  groups = frames.groups()
  decides = metric
  metric = catalogue.choose_metric(frames, metric)
  keys = result_table.parse_columns(frames, columns, decides)
  with style.figures_of_width(panels.WIDTHS.get(width)):
    if layout is None:
      drawings = _draw(frames, metric, bare)
    else:
      drawings = {
        name: drawing._replace(
          caption='\n'.join(
            filter(None, [drawing.caption, run_notes.join([left_out])])
          )
        )
        for name, drawing in layout(frames, metric).items()
      }
  if note := run_notes.tell_judged(frames.runs, metric):
    print(f'{note}.')
  if note := run_notes.tell_diverged(frames.runs, 'label'):
    print(f'{note}.')
  folder = simulation.make_folder(folder)
  # Tables come first, so that they are complete even if a plot fails.
  notes = [
    *([f'{left_out}.'] if left_out else []),
    *method_comparison.tell_differences(groups),
  ]
  table = result_table.make_table(frames, keys, decides, notes=notes)
  title = f'Methods by {column_titles.describe(metric)}'
  _write(folder / 'methods.csv', result_table.to_csv(frames, metric))
  for name, page in text_table.to_pages('methods', title, table).items():
    _write(folder / name, page)
  print(text_table.to_markdown(title, table))
  comparisons = method_comparison.compare_methods(groups, metric)
  rows = comparisons.drop(columns='text')
  _write_frame(folder / 'comparison.csv', rows)
  shown = comparisons[_are_shown(comparisons, keys)]
  if len(shown) > _MAX_PRINTED_COMPARISONS:
    print(
      f'{len(comparisons)} comparisons are too many to print; comparison.csv '
      'has all.'
    )
  elif len(shown):
    print(method_comparison.format_table(shown))
    if more := len(comparisons) - len(shown):
      print(f'comparison.csv has {more} more, of other scores on test clients.')
  if absent := method_comparison.tell_absent(groups, comparisons, metric):
    print(absent)
  scores = transfer_table.transfer_rows(settings_lib.read_settings(frames))
  _write_frame(folder / 'transfer_table.csv', scores)
  captions = catalogue.format_captions(drawings)
  # Another file of this common name may be the user's own.
  if captions or catalogue.has_captions(folder / 'captions.txt'):
    _write_or_remove(folder / 'captions.txt', captions.encode())
  figures = {name: drawing.figure for name, drawing in drawings.items()}
  paths = catalogue.write_figures(figures, folder, file_format)
  for path in paths:
    print(path)
  if layout is None:
    usual = {
      folder / f'{name}.{file_format}'
      for name in catalogue.name_figures(metric)
    }
    _remove_earlier(usual.difference(paths))
  without = _without(frames.runs, frames.drawn(metric))
  if without:
    print(f'Without {metric}, so not in its plots: {without}.')
  unscored = _without(frames.runs, frames.clients)
  if unscored and layout is None:
    evaluate = installed.name_commands('launch.evaluate')
    print(
      f'Not evaluated by {evaluate}, so not in the plots of clients: '
      f'{unscored}.'
    )
  return paths


def _draw(
  frames: frames_lib.Frames, metric: str, bare: bool
) -> catalogue.Drawings:
  """Returns the usual plots, with captions instead of titles if they are bare."""
  figures = catalogue.draw(frames, metric, catalogue.OF_METHODS)
  return {
    name: panels.Drawing(figure, panels.strip(figure) if bare else '')
    for name, figure in figures.items()
  }


def _are_shown(
  comparisons: pd.DataFrame, keys: Sequence[result_table.Key]
) -> pd.Series:
  """Returns whether comparisons are of scores that the table of methods has.

  Only those of test clients are many: each model and statistic is one.
  """
  metric = comparisons['metric'].astype(str)
  return ~metric.str.startswith('test/') | metric.isin([of for of, _ in keys])


def _without(runs: pd.DataFrame, found: pd.DataFrame) -> str:
  """Returns the workdirs of runs that have no row in another frame, or ''."""
  there = runs.index.isin(found.index.get_level_values('run'))
  absent = list(map(str, runs['workdir'][~there]))
  told, more = absent[:_MAX_NAMED], len(absent) - _MAX_NAMED
  return ', '.join(told) + f' and {more} more of {len(runs)} runs' * (more > 0)


def _write_frame(path: pathlib.Path, rows: pd.DataFrame) -> None:
  _write_or_remove(path, text_table.frame_to_csv(rows) if len(rows) else b'')


def _write_or_remove(path: pathlib.Path, content: bytes) -> None:
  """Writes a file; removes that of an earlier call if there is no content."""
  if content:
    _write(path, content)
  else:
    _remove_earlier([path])


def _remove_earlier(paths: Iterable[pathlib.Path]) -> None:
  """Removes those files that are there, as an earlier call has written them."""
  for path in sorted(paths):
    if path.is_file():
      path.unlink()
      print(f'Removed, as this call makes no such file: {path}.')


def _write(path: pathlib.Path, content: bytes) -> None:
  simulation.write_atomically(path, content)
  print(path)

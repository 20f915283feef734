# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plots of held-out clients: the effect of fine-tuning, and the spread."""

from collections.abc import Sequence

from fedfish_tff import errors
from fedfish_tff.evaluation import client_statistics
from fedfish_tff.evaluation import metric_names
from fedfish_tff.evaluation import ranking
from launch.plots import panels
from launch.plots import style
from launch.results import column_titles
from launch.results import frames as frames_lib
from launch.results import run_notes
from launch.results import run_reader

from matplotlib import figure as mpl_figure
from matplotlib import ticker
import numpy as np
import pandas as pd


@style.styled
def draw_personalization(
  frames: frames_lib.Frames, metric: str
) -> dict[str, mpl_figure.Figure]:
  """Draws the effect of fine-tuning on clients that launch.evaluate scored.

  One figure has a point per client, its scores before and after. The other has
  a thin line per client by the share of its data, and a thick one for the mean.
  """
  metric = metric.rpartition('/')[2]
  shares = list(run_reader.FEW_SHOT_COLUMNS)
  columns = [f'{of}/{metric}' for of in run_reader.FEW_SHOT_COLUMNS.values()]
  # Scores are on the half of the client's data that fine-tuning has not seen.
  tables = _read_scores(frames, columns)
  if not tables:
    return {}
  cells, width = list(tables), 3.3
  looks = style.method_looks(cells)
  higher_is_better = frames_lib.higher_is_better(frames.runs, metric)
  # launch.evaluate writes the test clients' scores to this table.
  name = column_titles.title(f'test/{metric}')
  bounds = (0, 1) if metric_names.is_share(metric) else (-np.inf, np.inf)
  pooled = np.concatenate(list(tables.values()), axis=1)
  scatter, upper = panels.new_grid(cells, (width, 4.5))
  few_shot, lower = panels.new_grid(cells, (width, 3.5), sharey=True)
  for (label, table), axis in zip(tables.items(), upper):
    before, after = table[0], table[-1]
    panels.equal_axes(axis, pooled[[0, -1]], bounds)
    look = {key: looks[label][key] for key in ('color', 'marker')}
    # The limits of shares cut no point in half.
    look |= {'alpha': 0.65, 'clip_on': False}
    panels.draw_points(axis, before, after, 26, **look)
    means = before.mean(), after.mean()
    panels.draw_cross(axis, *means)
    change = ranking.gains(after, before, higher_is_better=higher_is_better)
    summary = '{} gain, {} lose; mean {} to {}'.format(
      (change > 0).sum(), (change < 0).sum(), *map(style.format_value, means)
    )
    y_label = f'{name} after fine-tuning'
    x_label = f'{name} before'
    panels.set_labels(axis, x_label, y_label, label, summary)
  for (label, table), axis in zip(tables.items(), lower):
    look = looks[label] | {'linestyle': '-'}
    axis.plot(shares, table, color=look['color'], linewidth=0.6, alpha=0.35)
    axis.plot(shares, table.mean(axis=1), zorder=4, **look)
    axis.set_xticks(shares)
    axis.xaxis.set_major_formatter(ticker.PercentFormatter(1.0, decimals=0))
    axis.margins(x=0.12)
    y_label = f'{name} on the unseen half'
    panels.set_labels(axis, "Share of a client's data", y_label, label)
    means = map(style.format_value, table.mean(axis=1))
    panels.write_above(axis, dict(zip(shares, means)))
  panels.limit_shares(lower, metric)
  title = 'personalisation of test clients'
  panels.set_figure_title(
    scatter, run_notes.name_task(title.capitalize(), frames.runs)
  )
  title = run_notes.name_task(f'Few-shot {title}', frames.runs)
  panels.set_figure_title(few_shot, title)
  scored = _tell_clients(frames, columns)
  half = 'Scores are on the half of their data that fine-tuning does not see.'
  tuned = run_notes.join(
    [
      run_notes.tell_starts(frames.runs, columns),
      run_notes.tell_fine_tuning(frames.runs, [f'test/personalized/{metric}']),
    ]
  )
  note = f'{scored} {half} Cross: their mean. {tuned}'.rstrip()
  panels.draw_legend(scatter, note=note)
  note = f'{scored} Thick line and numbers: their mean. {tuned}'.rstrip()
  panels.draw_legend(few_shot, note=note)
  return {
    style.slug(f'personalization_{metric}'): scatter,
    style.slug(f'few_shot_{metric}'): few_shot,
  }


def _read_scores(
  frames: frames_lib.Frames, columns: Sequence[str]
) -> dict[str, np.ndarray]:
  """Returns the columns of clients with all of them, by label."""
  return {
    label: table.to_numpy().T
    for label, of in frames.groups().items()
    if len(table := _keep_scored(of, columns))
  }


def _keep_scored(
  frames: frames_lib.Frames, columns: Sequence[str]
) -> pd.DataFrame:
  """Returns the columns of the clients with finite values in all of them."""
  table = frames.clients.reindex(columns=columns)
  return table[np.isfinite(table).all(axis=1)]


def _tell_clients(frames: frames_lib.Frames, columns: Sequence[str]) -> str:
  """Returns a note on the clients with scores: '8 of 8 test clients'."""
  counts = _keep_scored(frames, columns).groupby('run').size()
  evaluated = frames.of(frames.runs.loc[counts.index])
  every = run_notes.count_clients(evaluated.runs, 'test')
  scored = errors.span(counts) + f' of {every}' * bool(every)
  note = run_notes.join(
    [
      run_notes.describe(evaluated, 'their clients are one set').rstrip('.'),
      run_notes.tell_not_drawn(
        frames.runs['label'],
        set(evaluated.runs['label']),
        'finite scores of clients',
      ),
    ]
  )
  return f'{scored} test clients per run. {note}'


@style.styled
def draw_spread(
  frames: frames_lib.Frames, metric: str
) -> dict[str, mpl_figure.Figure]:
  """Draws each method's sorted client scores and tells the worst tenth's mean.

  The clients are those that launch.evaluate has scored.
  """
  metric = metric.rpartition('/')[2]
  column = f'global/{metric}'
  scores = {
    of: values for of, (values,) in _read_scores(frames, [column]).items()
  }
  if not scores:
    return {}
  figure = _plot_spread(
    frames,
    scores,
    metric,
    f'{column_titles.title(f"test/{metric}")} of the global model',
    'Test clients, from the worst to the best',
    run_notes.join(
      [
        _tell_clients(frames, [column]).removesuffix('.'),
        run_notes.tell_starts(frames.runs, [column]),
      ]
    ),
  )
  return {style.slug(f'client_spread_{metric}'): figure}


@style.styled
def draw_own_spread(
  frames: frames_lib.Frames, metric: str
) -> dict[str, mpl_figure.Figure]:
  """Draws training clients' sorted scores on their own test data.

  Each method is scored with the model that it promises: after fine-tuning if
  that judges the run, else the clients' own models, or the server's if clients
  keep none.
  """
  metric = metric.rpartition('/')[2]
  scores, seeds, told, of_server, found = {}, [], [], [], set()
  for label, of in frames.groups().items():
    model, column = _promised(of, metric)
    if column not in of.own_clients:
      continue
    values = of.own_clients[column].dropna()
    finite = values[np.isfinite(values)].to_numpy()
    if len(finite):
      scores[f'{label}, {model}'] = finite
      of_server += [label] * metric_names.is_of_server(column)
      seeds.append(len(values.index.unique('run')))
    if len(values):
      found.add(label)
    if len(finite) < len(values):
      told.append(
        f'{label}: {len(values) - len(finite)} of {len(values)} clients have '
        'diverged and are left out'
      )
  if not scores:
    return {}
  counts = frames.own_clients.groupby('run').size()
  told = [
    f'{errors.span(counts)} training clients per run',
    f'{run_notes.count_seeds(seeds)}: their clients are one set'
    * (max(seeds) > 1),
    *told,
    run_notes.tell_starts(
      frames.runs[frames.runs['label'].isin(of_server)],
      [f'own_global/{metric}'],
    ),
    run_notes.tell_fine_tuning(
      frames.runs,
      [f'eval/{run.judged_by}/_' for run in frames.runs.itertuples()],
    ),
    run_notes.tell_not_drawn(frames.runs['label'], found, 'these scores'),
    frames.left_out,
  ]
  figure = _plot_spread(
    frames,
    scores,
    metric,
    f'{column_titles.title(metric)} on own test data',
    'Training clients, from the worst to the best',
    run_notes.join(told),
  )
  return {style.slug(f'own_client_spread_{metric}'): figure}


def _promised(frames: frames_lib.Frames, metric: str) -> tuple[str, str]:
  """Returns words for the model that a method promises, and its column."""
  groups = ['own', 'own_global']
  if metric_names.is_fine_tuned(f'{frames.runs["judged_by"].iloc[0]}/{metric}'):
    groups.insert(0, 'own_fine_tuned')
  columns = [f'{group}/{metric}' for group in groups]
  found = [of for of in columns if of in frames.own_clients.dropna(axis=1)]
  column = (found or columns)[0]
  model = column_titles.title(f'eval/{column}').rpartition(', ')[2]
  return model, column


def _plot_spread(
  frames: frames_lib.Frames,
  scores: dict[str, np.ndarray],
  metric: str,
  y_label: str,
  title: str,
  note: str,
) -> mpl_figure.Figure:
  """Plots sorted scores of clients, a line per label."""
  higher_is_better = frames_lib.higher_is_better(frames.runs, metric)
  figure, (axis,) = panels.new_grid([title], (7, 4.2))
  axis.axvspan(0, 0.1, color=style.GRID, alpha=0.6, linewidth=0, zorder=0)
  lines = {}
  for label, values in scores.items():
    # The k-th of n clients stands for the share from (k - 1) / n to k / n.
    shares = (np.arange(len(values)) + 0.5) / len(values)
    ordered = np.sort(values) if higher_is_better else -np.sort(-values)
    lines[label] = shares, ordered[None]
  panels.draw_lines(axis, lines, style.method_looks(scores))
  entries = axis.get_legend_handles_labels()[0]
  for entry, (label, values) in zip(entries, scores.items()):
    worst = client_statistics.worst_tenth(
      values, higher_is_better=higher_is_better
    )
    mean, worst = map(style.format_value, (values.mean(), worst))
    entry.set_label(f'{label}: mean {mean}, worst tenth {worst}')
  axis.set_xlim(0, 1)
  panels.limit_shares([axis], metric)
  axis.xaxis.set_major_formatter(ticker.PercentFormatter(1.0, decimals=0))
  panels.set_labels(
    axis,
    'Share of the clients (shaded: the worst tenth)',
    y_label,
  )
  panels.set_figure_title(figure, run_notes.name_task(title, frames.runs))
  panels.draw_legend(figure, entries, note=note)
  return figure

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The results of a sweep as one HTML file that opens offline.

A sweep's folder may be untrusted, so all text is escaped, and the page's policy
forbids scripts and the network. This is plain Python, without Matplotlib.
"""

import base64
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import json
import os
import pathlib
from typing import Any

from fedfish_tff import regular_files
from fedfish_tff.simulation import files
from launch import plain_text
from launch.results import run_notes
from launch.results import run_table
from launch.results import sweep_folder
from launch.results import text_table

import pandas as pd

NAME = 'index.html'
_PNG = b'\x89PNG\r\n\x1a\n'
_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<style>
body { font: 15px/1.45 sans-serif; color: #222; max-width: 75em;
  margin: 1.5em auto; padding: 0 1em; }
h1 { font-size: 1.4em; overflow-wrap: anywhere; }
h2 { font-size: 1.15em; margin-top: 1.5em; }
table { border-collapse: collapse; font-size: 13px; }
.table { overflow-x: auto; }
th, td { padding: .25em .6em .25em 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid #ddd; overflow-wrap: normal; word-break: normal; }
td.number { white-space: nowrap; }
th.number, td.number { text-align: right; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .1em 1em; }
dt { font-weight: bold; }
dd { margin: 0; }
details, figure { margin: 1em 0; }
summary { cursor: pointer; }
img { max-width: 100%; max-height: 85vh; }
figcaption { color: #666; white-space: pre-wrap; overflow-wrap: anywhere; }
pre { background: #f5f5f5; padding: 1em; overflow-x: auto; }
</style>
"""


def write_page(
  folder: sweep_folder.SweepFolder,
  runs: pd.DataFrame,
  table: text_table.Table,
  *,
  figures: Sequence[pathlib.Path],
  failures: Mapping[str, str],
) -> pathlib.Path:
  """Writes the page into a sweep's folder, whole or not at all.

  Args:
    folder: The folder of the sweep, which gets index.html.
    runs: The runs, of `sweep_results.read_results`.
    table: The table of results.
    figures: The figures' files. Files that are not bitmaps are left out, as are
      links, which may lead anywhere.
    failures: The reasons why runs have failed, by name.

  Returns:
    The path of the page.
  """
  title = plain_text.html(f'Sweep {folder.read_source()}')
  told = run_table.describe(runs, failures)
  sections = {
    'Results': [
      f'<p>{plain_text.html(" ".join(table.notes))}</p>',
      text_table.to_html(table)
      if table.rows
      else f'<p>{text_table.NOTHING}</p>',
    ],
    'What was run': [_facts(runs)],
    'Figures': _figures(folder, figures, first=_judging(runs))
    or [
      '<p>There are no figures. '
      f'{plain_text.html(failures.get("plots", ""))}</p>'
    ],
    'Runs': [
      _fold(
        # Figures may have failed, too.
        f'{text_table.count(len(runs), "run")}, '
        f'{runs["run"].isin(failures).sum()} failed',
        [
          text_table.to_html(
            text_table.Table([], [list(told), *told.itertuples(index=False)])
          )
        ],
        opened=bool(failures),
      )
    ],
    'Configs': [
      _fold('The config of each run', map(_config, runs['run'], runs['config']))
    ],
  }
  parts = [
    f'{_HEAD}<title>{title}</title>\n</head>\n<body>\n<h1>{title}</h1>',
    f'<nav>{" · ".join(map(_link, sections))}</nav>',
  ]
  for name, content in sections.items():
    parts += [f'<h2 id="{_anchor(name)}">{name}</h2>', *content]
  path = folder.path / NAME
  text = '\n'.join([*parts, '</body>\n</html>\n'])
  files.write_atomically(path, text.encode())
  return path


def _anchor(name: str) -> str:
  return name.lower().replace(' ', '-')


def _link(name: str) -> str:
  return f'<a href="#{_anchor(name)}">{name}</a>'


def _fold(summary: str, content: Iterable[str], opened: bool = False) -> str:
  """Returns content that is shown after a click on its summary."""
  return '\n'.join(
    [
      f'<details{" open" * opened}><summary>{plain_text.html(summary)}</summary>',
      *content,
      '</details>',
    ]
  )


def _judging(runs: pd.DataFrame) -> str:
  """Returns the group of columns that judges most of the runs that have begun."""
  return next(iter(runs['judged_by'][runs['metric'].notna()].mode()), 'global')


def _figures(
  folder: sweep_folder.SweepFolder,
  figures: Sequence[pathlib.Path],
  *,
  first: str,
) -> list[str]:
  """Returns the curve of the score that judges, and others folded by folder.

  Args:
    folder: The folder of the sweep.
    figures: The figures' files.
    first: The group of columns of that score, such as 'global'.
  """
  shown = [
    (os.path.relpath(path, folder.path), content)
    for path in sorted(
      figures,
      key=lambda p: (f'eval_{first}' not in p.name, 'by_round' not in p.name),
    )
    if (content := _read_bitmap(path))
  ]
  groups: dict[str, list[str]] = {}
  for name, content in shown[1:]:
    group = groups.setdefault(os.path.dirname(name), [])
    group.append(_figure(name, content))
  return [_figure(*first) for first in shown[:1]] + [
    _fold(f'{name}: {len(groups[name])} more', groups[name])
    for name in sorted(groups)
  ]


def _read_bitmap(path: pathlib.Path) -> bytes | None:
  if path.is_symlink():
    return None
  content = regular_files.read_bytes(path)
  return content if content.startswith(_PNG) else None


def _figure(name: str, content: bytes) -> str:
  name = plain_text.html(name)
  return (
    f'<figure>\n<img alt="{name}" src="data:image/png;base64,'
    f'{base64.b64encode(content).decode()}">\n'
    f'<figcaption>{name}</figcaption>\n</figure>'
  )


def _facts(runs: pd.DataFrame) -> str:
  facts = {
    'Tasks': _names(runs['task']),
    'Synthetic data': _names(runs['synthetic'].dropna()),
    'Methods': '; '.join(dict.fromkeys(runs['title'])),
    'Rounds': _names(runs['length']),
    'Seeds': _names(runs['seed']),
    'Clients': run_notes.tell_clients(runs),
    'Finished': f'{int(runs["is_finished"].sum())} of '
    f'{text_table.count(len(runs), "run")}',
  }
  lines = [
    f'<dt>{name}</dt><dd>{plain_text.html(text)}</dd>'
    for name, text in facts.items()
    if text
  ]
  return '\n'.join(['<dl>', *lines, '</dl>'])


def _names(values: Iterable[Any]) -> str:
  return ', '.join(map(str, dict.fromkeys(values)))


def _config(name: str, config: Mapping[str, Any]) -> str:
  content = plain_text.html(json.dumps(config, indent=2))
  return _fold(name, [f'<pre>{content}</pre>'])

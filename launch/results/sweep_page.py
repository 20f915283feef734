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
from launch.results import sweep_folder
from launch.results import sweep_table
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
  margin: 2em auto; padding: 0 1em; }
h2 { margin-top: 2em; }
div.table { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: .25em .8em .25em 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid #ddd; white-space: nowrap; }
dt { font-weight: bold; }
figure { margin: 2em 0; }
img { max-width: 100%; }
figcaption { color: #666; white-space: pre-wrap; overflow-wrap: anywhere; }
pre { background: #f5f5f5; padding: 1em; overflow-x: auto; }
</style>
"""


def write_page(
  folder: sweep_folder.SweepFolder,
  runs: pd.DataFrame,
  *,
  figures: Mapping[pathlib.Path, str],
  failures: Mapping[str, str],
) -> pathlib.Path:
  """Writes the page into a sweep's folder, whole or not at all.

  Args:
    folder: The folder of the sweep.
    runs: The runs; see `sweep_results.read_results`.
    figures: The captions, which may be empty, by the figure's file. Files that
      are not bitmaps are left out, as are links, which may lead anywhere.
    failures: The reasons why runs have failed, by name.

  Returns:
    The path of the page.

  Raises:
    errors.InputError: If it cannot be written.
  """
  title = plain_text.html(f'Sweep {folder.read_source()}')
  table = sweep_table.make_table(runs)
  shown = [
    _figure(os.path.relpath(path, folder.path), content, caption)
    for path, caption in figures.items()
    if (content := _read_bitmap(path))
  ]
  parts = [
    f'{_HEAD}<title>{title}</title>\n</head>\n<body>\n<h1>{title}</h1>',
    *(f'<p>{plain_text.html(note)}</p>' for note in table.notes),
    _table(table.rows, table.bold)
    if table.rows
    else f'<p>{sweep_table.NOTHING}</p>',
    '<h2>What was run</h2>',
    _facts(runs),
    '<h2>Figures</h2>'
    if shown
    else '<p>There are no figures. '
    f'{plain_text.html(failures.get("plots", ""))}</p>',
    *shown,
    '<h2>Runs</h2>',
    _table(sweep_table.run_rows(runs, failures)),
    '<h2>Configs</h2>',
    *map(_config, runs['run'], runs['config']),
    '</body>\n</html>\n',
  ]
  path = folder.path / NAME
  files.write_atomically(path, '\n'.join(filter(None, parts)).encode())
  return path


def _read_bitmap(path: pathlib.Path) -> bytes | None:
  if path.is_symlink():
    return None
  content = regular_files.read_bytes(path)
  return content if content.startswith(_PNG) else None


def _figure(name: str, content: bytes, caption: str) -> str:
  name, caption = plain_text.html(name), plain_text.html(caption)
  return (
    f'<figure>\n<img alt="{name}" src="data:image/png;base64,'
    f'{base64.b64encode(content).decode()}">\n'
    f'<figcaption>{name}\n{caption}</figcaption>\n</figure>'
  )


def _table(
  rows: Sequence[Sequence[Any]], bold: Sequence[tuple[int, int]] = ()
) -> str:
  texts = [[str(cell) for cell in row] for row in rows]
  table = text_table.to_html(texts, bold=bold)
  return f'<div class="table">{table}</div>'


def _facts(runs: pd.DataFrame) -> str:
  facts = {
    'Tasks': _names(runs['task']),
    'Made-up data': _names(runs['made_up'].dropna()),
    'Methods': _names(runs['algorithm']),
    'Rounds': _names(runs['length']),
    'Seeds': _names(runs['seed']),
    'Clients': run_notes.tell_clients(runs),
    'Finished': f'{int(runs["is_finished"].sum())} of {len(runs)} runs',
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
  return (
    f'<details><summary>{plain_text.html(name)}</summary>\n'
    f'<pre>{content}</pre>\n</details>'
  )

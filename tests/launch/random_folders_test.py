# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sweeps in which a file is anything else: read, or an error names the file."""

import contextlib
import copy
import dataclasses
import io
import json
import os
import pathlib
import shutil
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.simulation import checked_json
from launch.configs import sweeps
from launch.plots import comparison
from launch.plots import style
from launch.results import checked_tables
from launch.results import result_table
from launch.results import run_table
from launch.results import sweep_folder
from launch.results import sweep_page
from launch.results import sweep_results
from launch.results import text_table
from launch.sweeps import folder as folder_lib
from launch.sweeps import tuning
from tests.launch.results import fake_runs
from tests.launch.sweeps import fake_sweeps

from absl.testing import parameterized
import numpy as np
import pytest

_VALUES = (
  None, True, 0, -1, 2, 2**70, 10**400, 0.5, 1e308, float('nan'), float('inf'),
  '', 'a', '../../a', '\ud800', '\0', '$\\frac{', [], [1], ['a', None], {},
  {'name': 1}, {'': {}},
)  # fmt: skip
_CELLS = (
  '', 'x', 'nan', 'inf', '1e400', '-1', '0', '1.5', '9' * 5000, '9' * 400,
  '"', 'a\x00', '½', '\U00012345', '$\\frac{', '1_0',
)  # fmt: skip


def _write_json(path, value):
  path.write_text(json.dumps(value))


def _nested(depth):
  return ('[' * depth + ']' * depth).encode()


def _paths(value, path=()):
  """Yields where the parts of a JSON value are."""
  yield path
  inner = enumerate(value) if isinstance(value, list) else ()
  for key, part in value.items() if isinstance(value, dict) else inner:
    yield from _paths(part, (*path, key))


def _with(value, path, new):
  """Returns a JSON value with another part; `...` to remove that."""
  if not path:
    return new
  value = copy.deepcopy(value)
  block = value
  for key in path[:-1]:
    block = block[key]
  if new is ...:
    del block[path[-1]]
  else:
    block[path[-1]] = new
  return value


def _change_json(content, rng):
  """Returns a JSON text with another part, and maybe the right checksum."""
  value = json.loads(content)
  paths = list(_paths(value))[1:]
  path = paths[rng.integers(len(paths))]
  choices = (*_VALUES, ...)
  value = _with(value, path, choices[rng.integers(len(choices))])
  if 'checksum' in value and path != ('checksum',):
    del value['checksum']
    value = checked_json.add_checksum(value)
  return json.dumps(value).encode()


def _change_csv(content, rng):
  """Returns a table with another cell, or without a column."""
  lines = [line.split(',') for line in content.decode().splitlines()]
  row, column = rng.integers(len(lines)), rng.integers(len(lines[0]))
  if rng.integers(4):
    lines[row][column] = _CELLS[rng.integers(len(_CELLS))]
  else:
    for line in lines:
      del line[column]
  return '\n'.join(map(','.join, [*lines, []])).encode('utf-8', 'replace')


def _change_bytes(content, rng):
  start = int(rng.integers(len(content)))
  return (
    content[:start],
    b'',
    content[:start] + rng.bytes(3) + content[start + 2 :],
    content + content,
    rng.bytes(50),
    _nested(2000),
    _nested(100),
    b'\xff\xfe' + content,
    content.replace(b'\n', b'\r'),
  )[rng.integers(9)]


def _replace(path, rng):
  """Puts something else than a file where one is."""
  path.unlink()
  kind = rng.integers(6)
  if kind == 0:
    path.mkdir()
  elif kind == 1:
    os.mkfifo(path)
  elif kind == 2:
    target = path.with_name('pipe')
    os.mkfifo(target)
    path.symlink_to(target)
  elif kind in (3, 4):
    path.symlink_to(('/dev/zero', '/proc/kmsg')[kind - 3])


def _damage(path, rng):
  kind = rng.integers(4)
  if kind == 0:
    _replace(path, rng)
  elif kind == 1:
    path.write_bytes(_change_bytes(path.read_bytes(), rng))
  else:
    change = _change_json if path.suffix == '.json' else _change_csv
    path.write_bytes(change(path.read_bytes(), rng))


def _unbind(path):
  """Removes what binds files to each other, as who makes them up would."""
  for digests in path.rglob('digests.json'):
    digests.unlink()
  for summary in path.rglob('summary.json'):
    content = checked_json.read(summary, {}) | {'run': {}}
    _write_json(summary, checked_json.add_checksum(content))


class RandomFoldersTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    root = pathlib.Path(self.create_tempdir().full_path)
    self.whole, self.path, self.output = root / 'w', root / 'd', root / 'o'
    # What is drawn is looked at, not written, which takes most of the time.
    self.enter_context(mock.patch.object(style, 'save_figure', autospec=True))
    self.enter_context(contextlib.redirect_stdout(io.StringIO()))
    self.runs = fake_sweeps.grid(
      ['fed_avg', 'fed_fish'], client_learning_rate=(0.01, 0.05)
    )
    self._write_sweep()

  def _write_sweep(self):
    folder = fake_sweeps.write_sweep(self.whole, self.runs)
    for seed, run in enumerate(self.runs):
      workdir = folder.workdir(run.name)
      fake = fake_runs.make_run(run.config.values['algorithm']['name'], seed)
      fake = dataclasses.replace(fake, config=run.config.values)
      scores = fake_runs.make_transfer_scores(fake, ['c4'])
      fake_runs.write_run(dataclasses.replace(fake, transfer=scores), workdir)
      _write_json(workdir / 'data_fingerprint.json', {'train': 'a'})
      data = {
        'data_dir': None,
        'synthetic': 'toys',
        'label': fake_runs.make_label(fake.config),
      }
      _write_json(workdir / 'data.json', checked_json.add_checksum(data))
      fake_sweeps.write_result(folder, run, 0.5 + seed)
      rounds = run.config.values['rounds']
      fake_runs.write_clients(workdir, fake_runs.make_clients(), rounds)
      summary = workdir / 'evaluation/summary.csv'
      summary.write_text(f'evaluation,round\nglobal,{rounds}\n')
      tables = summary.parent.glob('*.csv')
      checked_tables.write_tables({path: path.read_bytes() for path in tables})
    usage = {run.name: {'seconds': 1.5, 'peak_bytes': 3} for run in self.runs}
    _write_json(folder.usage_path, usage)
    rows = run_table.to_csv(
      sweep_results.read_results(folder),
      failures={self.runs[1].name: 'x'},
      usage=usage,
    )
    (folder.path / 'runs.csv').write_bytes(rows)

  def _plot(self, of_sweep=False):
    def plot():
      workdirs, left_out = (
        comparison.find_workdirs(self.path)
        if of_sweep
        else (sorted((self.path / 'runs').iterdir()), '')
      )
      comparison.compare_workdirs(workdirs, self.output, left_out=left_out)

    return plot

  def _sweep(self):
    folder = sweep_folder.SweepFolder(self.path)
    folder_lib.fit_runs(folder, self.runs)
    for run in self.runs:
      folder.is_evaluated(run.name, run.config.values)
      folder.read_data_fingerprint(run.name)
    results = sweep_results.read_results(folder)
    failures = dict.fromkeys(folder.read_failed(), 'x')
    run_table.to_csv(results, failures=failures, usage=folder.read_usage())
    result_table.sweep_to_csv(results)
    table = result_table.of_sweep(results)
    text_table.to_markdown('t', table)
    text_table.to_latex('t', table)
    sweep_page.write_page(folder, results, table, figures=[], failures=failures)

  def _tune(self):
    tuned = tuning.Tuning(self.path)
    runs = tuned.tune(sweeps.grid([self.runs[0].variant], {}))
    tuned.describe(fake_sweeps.plan(runs))

  def _resume(self):
    run = self.runs[0]
    with simulation.open_workdir(
      sweep_folder.SweepFolder(self.path).workdir(run.name),
      run.config.values,
      data_fingerprint={'train': 'a'},
    ) as folder:
      manager = simulation.CsvMetricsManager(folder.metrics_path)
      manager.drop_rows_after(4)
      folder.read_data()
      folder.check_files()

  def _fuzz(self, num_trials, seed, pattern='*'):
    rng = np.random.default_rng(seed)
    files = [
      path.relative_to(self.whole)
      for path in sorted(self.whole.rglob(pattern))
      if path.is_file() and path.stat().st_size
    ]
    uses = {
      'plot': self._plot(),
      'plot a sweep': self._plot(of_sweep=True),
      'sweep': self._sweep,
      'tune': self._tune,
      'resume': self._resume,
    }
    shutil.copytree(self.whole, self.path)
    for use in uses.values():
      use()
    refused = 0
    for trial in range(num_trials):
      file = files[rng.integers(len(files))]
      state = rng.bit_generator.state
      name = list(uses)[rng.integers(len(uses))]
      shutil.rmtree(self.path)
      shutil.copytree(self.whole, self.path)
      rng.bit_generator.state = state
      if trial % 2:
        _unbind(self.path)
      if not (self.path / file).exists():
        continue
      _damage(self.path / file, rng)
      with self.subTest(file=str(file), use=name, trial=trial, seed=seed):
        try:
          uses[name]()
        except errors.InputError as error:
          refused += 1
          self.assertIn(str(self.path), str(error))
    self.assertGreater(refused, num_trials // 10)

  def test_a_few(self):
    self._fuzz(20, 7)

  @pytest.mark.thorough
  def test_more(self):
    self._fuzz(150, 8)

  @pytest.mark.slow
  def test_many(self):
    self._fuzz(600, 10)

  @pytest.mark.thorough
  def test_configs(self):
    shutil.rmtree(self.whole)
    self.runs = fake_sweeps.grid(
      [
        'fed_avg,exchange=layers',
        'fed_avg,privacy=gaussian',
        'fed_avg,compression=quantized',
        'fed_fish',
      ]
    )
    self._write_sweep()
    self._fuzz(100, 9, '[cs][ow]*.json')

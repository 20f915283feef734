# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The execution of a sweep, from planned runs to tables and plots.

This is plain Python; only workers import TensorFlow.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import shlex
import sys
import traceback
from typing import Any

from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff import simulation
from fedfish_tff.simulation import files
from launch import installed
from launch.results import result_table
from launch.results import run_reader
from launch.results import run_table
from launch.results import sweep_folder
from launch.results import sweep_page
from launch.results import sweep_results
from launch.results import text_table
from launch.sweeps import folder as folder_lib
from launch.sweeps import plan as plan_lib
from launch.sweeps import ray_workers
from launch.sweeps import resources
from launch.sweeps import worker
from launch.sweeps import workers as workers_lib

import pandas as pd
import tqdm

# The name of the figures among failures and logs, beside those of runs.
_PLOTS = 'plots'
_BAR = '{desc}: {percentage:3.0f}% |{bar}| {postfix} [{elapsed}<{remaining}]'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sweep:
  """A sweep and the options of its execution.

  Attributes:
    source: The source of the runs, `<config file>:<sweep>`.
    runs: The runs that the folder gets.
    path: The folder of the sweep.
    data_dir: The folder of the data, for tasks that read files.
    evaluated: Whether launch.evaluate also scores the runs.
    num_processes: The most runs at a time; None for as many as cores and memory
      allow.
    on_ray: Whether runs are jobs of a Ray cluster, not processes started here.
    ray_address: The address of the cluster; None to start one on this machine.
    columns: The columns of the table, as for `result_table.parse_columns`.
    tuned: The fields whose best values the runs are to find, before others
      run; none if the runs themselves are what counts.
    chosen: The fields whose best values another sweep has found for the runs.
    notes: The sentences on tuning for the table.
  """

  source: str
  runs: Sequence[plan_lib.PlannedRun]
  path: str | os.PathLike[str]
  data_dir: str | None = None
  evaluated: bool = False
  num_processes: int | None = None
  on_ray: bool = False
  ray_address: str | None = None
  columns: Sequence[str] | None = None
  tuned: Sequence[str] = ()
  chosen: Sequence[str] = ()
  notes: Sequence[str] = ()

  @functools.cached_property
  def _folder(self) -> sweep_folder.SweepFolder:
    return sweep_folder.SweepFolder(self.path)

  @functools.cached_property
  def _fitted(self) -> folder_lib.Fitted:
    return folder_lib.fit_runs(self._folder, self.runs, chosen=self.chosen)

  @property
  def _runs(self) -> Sequence[plan_lib.PlannedRun]:
    """The runs with the names that they have in the folder."""
    return self._fitted.runs

  def describe(self) -> None:
    """Prints the numbers of runs, and what they differ in."""
    todo = self._find_todo()
    by_variant: dict[str, list[plan_lib.PlannedRun]] = {}
    for run in self._runs:
      by_variant.setdefault(run.variant, []).append(run)
    for variant, runs in by_variant.items():
      fields = dict.fromkeys(field for run in runs for field in run.fields)
      told = [text_table.count(len(runs), 'run')]
      for field in fields:
        values = [repr(r.fields[field]) for r in runs if field in r.fields]
        told.append(f'{field} {", ".join(dict.fromkeys(values))}')
      print(f'{variant}: {"; ".join(told)}')
    # A cluster is not connected to yet.
    limit = (
      ''
      if self.on_ray
      else f', up to {self._count_processes(len(todo))} at a time'
    )
    purpose = f' to tune {", ".join(self.tuned)}' if self.tuned else ''
    print(
      f'{text_table.count(len(self._runs), "run")}{purpose}, {len(todo)} to do'
      f'{limit}'
    )
    if todo:
      print(f'The first: {self._command(todo[0])}')

  def execute(self) -> dict[str, str]:
    """Runs the unfinished runs and writes the tables and plots.

    Returns:
      The reasons why runs have failed, by name.

    Raises:
      KeyboardInterrupt: On Ctrl-C; the message says how to continue.
    """
    folder = self._folder
    with folder_lib.open_folder(
      self.path,
      self.source,
      self.runs,
      tuned=self.tuned,
      chosen=self.chosen,
      notes=[*self.notes, *self._tell_superseded()],
    ):
      failures: dict[str, str] = {}
      try:
        self._execute_runs(failures)
      except KeyboardInterrupt as error:
        # A column that no run has yet must not hide the message.
        with contextlib.suppress(errors.InputError):
          self._write_tables(failures)
        raise KeyboardInterrupt(
          f'Interrupted: {self._tell_done()}. The same command continues the '
          'sweep.'
        ) from error
      failures |= self._find_other_data()
      runs, table = self._write_tables(failures)
      figures = _plot(folder, runs, failures)
      sweep_page.write_page(
        folder, runs, table, figures=figures, failures=failures
      )
      if not self.tuned:
        print((folder.path / 'table.md').read_text(encoding='utf-8'), end='')
        print(
          f'\nDone: {self._tell_done()}. See {shlex.quote(str(folder.path))}.'
        )
      _say_failures(folder, failures)
      return failures

  def _tell_superseded(self) -> list[str]:
    """Returns a sentence on runs of the folder that no longer count."""
    old = self._fitted.superseded
    variants = dict.fromkeys(entry['variant'] for entry in old.values())
    return [
      f'Not in the table: {text_table.count(len(old), "earlier run")} of '
      f'{", ".join(variants)} in runs/, with values or candidates for fine-tuning '
      'that are no longer those of the tuning.'
    ] * bool(old)

  def _find_times(self) -> list[tuple[float, int]]:
    """Returns the seconds and the work of each finished run."""
    usage = self._folder.read_usage()
    return [
      (usage[run.name]['seconds'], run.work)
      for run in self._runs
      if run.name in usage and self._is_done(run)
    ]

  def count_todo(self) -> int:
    """Returns the number of unfinished runs."""
    return len(self._find_todo())

  def _find_todo(self) -> list[plan_lib.PlannedRun]:
    return [run for run in self._runs if not self._is_done(run)]

  def _tell_done(self) -> str:
    diverged = sum(self._find_divergence(run) is not None for run in self._runs)
    return text_table.tell_done(
      len(self._runs) - len(self._find_todo()), len(self._runs), diverged
    )

  def _find_divergence(self, run: plan_lib.PlannedRun) -> int | None:
    """Returns the round in which a finished run has diverged."""
    summary = self._folder.read_summary(run.name, run.config.values)
    return run_reader.diverged_round(summary or {})

  def _execute_runs(self, failures: dict[str, str]) -> None:
    """Runs the unfinished runs; adds the reasons of failures by name."""
    todo, folder = self._find_todo(), self._folder
    if not todo:
      return
    # The longest runs come first, so that no core is idle at the end; but those
    # that others start from do not let them wait.
    starts = {start.name for run in todo for start in self._find_starts(run)}
    todo.sort(key=lambda run: (run.name not in starts, -run.work))
    by_name = {run.name: run for run in todo}
    usage = folder.read_usage()

    def on_end(job: worker.Job, outcome: worker.Outcome) -> None:
      earlier = usage.get(job.name, {})
      usage[job.name] = {
        # The sum over all attempts.
        'seconds': round(earlier.get('seconds', 0) + outcome.seconds, 3),
        # A failed run may not have reached its peak.
        'peak_bytes': 0 if outcome.error else outcome.peak_bytes,
      }
      simulation.write_atomically(
        folder.usage_path, f'{json.dumps(usage, indent=2)}\n'.encode()
      )
      run, error = by_name[job.name], outcome.error
      if not error and not self._is_done(run):
        error = 'its process ended without a result'
      if error:
        failures[run.name] = error
      diverged = None if error else self._find_divergence(run)
      progress.update(run, error, outcome.seconds, diverged)

    with self._workers(len(todo)) as workers:
      progress = _Progress(
        self._runs,
        todo,
        workers.num_workers,
        title='tuning' if self.tuned else 'sweep',
      )
      try:
        workers.run(
          [self._job(run) for run in todo],
          on_end,
          known_peaks=[u['peak_bytes'] for u in usage.values()],
        )
      finally:
        progress.close()

  def _workers(self, num_runs: int) -> workers_lib.Workers:
    """Returns the workers, none of which runs yet."""
    if self.on_ray:
      return ray_workers.RayWorkers(
        self.ray_address,
        count=functools.partial(self._count_processes, num_runs),
        limits_memory=self.num_processes is None,
      )
    return workers_lib.Workers(
      num_workers=self._count_processes(num_runs),
      num_cores=len(resources.usable_cores()),
      limits_memory=self.num_processes is None,
    )

  def _job(self, run: plan_lib.PlannedRun) -> worker.Job:
    folder, starts = self._folder, self._find_starts(run)
    # Ray's actors have another working directory.
    workdir = {
      r.name: str(folder.workdir(r.name).absolute()) for r in (run, *starts)
    }
    return worker.Job(
      name=run.name,
      arguments={
        'config': run.config.values,
        'workdir': workdir[run.name],
        'data_dir': self.data_dir and os.path.abspath(self.data_dir),
        'trust': dataclasses.asdict(run.config.trust),
        'is_trained': folder.read_summary(run.name, run.config.values)
        is not None,
        'evaluated': self.evaluated,
        'starts': {start.config.key: workdir[start.name] for start in starts},
      },
      log_path=str(folder.log_path(run.name).absolute()),
      heading=self._command(run),
      versions=worker.versions(),
      group=run.config.sharing_key,
      after=[start.name for start in starts],
    )

  def _find_starts(self, run: plan_lib.PlannedRun) -> list[plan_lib.PlannedRun]:
    """Returns the runs that may be the start of a run."""
    origin = run.config.origin
    if origin is None or origin.config is None:
      return []
    return [
      other
      for other in self._runs
      if other.config.algorithm == origin.config.algorithm
      and other.config.task == run.config.task
      and other.config.seed == run.config.seed
    ]

  def _command(self, run: plan_lib.PlannedRun) -> str:
    """Returns the command that trains a run of the sweep by itself."""
    arguments = [f'--workdir={self._folder.workdir(run.name)}']
    if self.data_dir is not None:
      arguments.append(f'--data_dir={self.data_dir}')
    if run.config.trust.saved_models:
      arguments.append('--trust_saved_models')
    if run.config.trust.json_modules:
      arguments.append('--trust_modules')
    program = installed.name_commands('python -m launch.train')
    return f'{program} {run.command} {shlex.join(arguments)}'

  def _is_done(self, run: plan_lib.PlannedRun) -> bool:
    named = run.name, run.config.values
    return self._folder.read_summary(*named) is not None and (
      not self.evaluated or self._folder.is_evaluated(*named)
    )

  def _count_processes(
    self, num_runs: int, num_cores: int | None = None
  ) -> int:
    """Returns the most runs at a time; None is for the cores of this machine."""
    num_cores = num_cores or len(resources.usable_cores())
    return max(1, min(self.num_processes or num_cores, num_runs))

  def _find_other_data(self) -> dict[str, str]:
    """Returns why runs have other data than comparable runs, by name.

    Each workdir checks its own data; this compares different workdirs.
    """
    first: dict[str, tuple[str, Any]] = {}
    others = {}
    for run in self._runs:
      try:
        data = self._folder.read_data_fingerprint(run.name)
      except errors.InputError as error:
        others[run.name] = str(error)
        continue
      if data is None:
        continue
      key = repr((run.config.task, run.config.seed))
      name, expected = first.setdefault(key, (run.name, data))
      if data != expected:
        others[run.name] = (
          f'it has run on other data than {name}; another --data_dir? Remove '
          f'one of the two from {self._folder.workdir(name).parent}'
        )
    return others

  def _write_tables(
    self, failures: Mapping[str, str]
  ) -> tuple[pd.DataFrame, text_table.Table]:
    """Writes the tables; returns the runs and the table for people."""
    folder = self._folder
    runs = sweep_results.read_results(folder)
    _write(
      folder,
      {
        'runs.csv': run_table.to_csv(
          runs, failures=failures, usage=folder.read_usage()
        ),
        'table.csv': result_table.sweep_to_csv(runs),
      },
    )
    # A chosen column may be missing, all others are written by then.
    table = result_table.of_sweep(runs, self.columns)
    title = f'Sweep {self.source}'
    _write(folder, text_table.to_pages('table', title, table))
    return runs, table


def tell_time(sweeps: Sequence[Sweep]) -> str:
  """Returns a sentence on the time that sweeps will take one after another.

  The time of their finished runs gives that of the others, in proportion to
  their work.
  """
  done = [time for sweep in sweeps for time in sweep._find_times()]
  seconds, work = (sum(part) for part in zip(*done)) if done else (0.0, 0)
  if not work:
    return 'The time is not known before a run has finished.'
  left = 0.0
  for sweep in sweeps:
    todo = sweep._find_todo()
    processes = sweep._count_processes(max(1, len(todo)))
    left += sum(run.work for run in todo) / processes
  minutes = max(1, round(left * seconds / work / 60)) if left else 0
  return (
    f'About {text_table.count(minutes, "minute")} left, by the time of '
    f'{text_table.count(len(done), "finished run")}.'
  )


def _write(
  folder: sweep_folder.SweepFolder, contents: Mapping[str, bytes]
) -> None:
  for name, content in contents.items():
    simulation.write_atomically(folder.path / name, content)


def _plot(
  folder: sweep_folder.SweepFolder,
  runs: pd.DataFrame,
  failures: dict[str, str],
) -> list[pathlib.Path]:
  """Draws the finished runs; redirects output to a separate log."""
  # Matplotlib takes a second to import, which wrong flags must not wait for.
  from launch.plots import sweep_plots  # pylint: disable=g-import-not-at-top

  path = folder.log_path(_PLOTS)
  try:
    log = open(
      path,
      'a',
      encoding='utf-8',
      errors='backslashreplace',
      opener=regular_files.own_opener,
    )
  except OSError as error:
    failures[_PLOTS] = str(files.unwritable_error(path, error))
    return []
  with log, contextlib.redirect_stdout(log):
    try:
      return sweep_plots.draw(folder, runs)
    except errors.InputError as error:
      failures[_PLOTS] = str(error)
    except Exception as error:
      traceback.print_exc(file=log)
      failures[_PLOTS] = f'{type(error).__name__}: {error}'
  return []


class _Progress:
  """A progress bar over the runs with the time left, or a line per run."""

  def __init__(
    self,
    runs: Sequence[plan_lib.PlannedRun],
    todo: Sequence[plan_lib.PlannedRun],
    num_processes: int,
    *,
    title: str,
  ) -> None:
    self._num_runs = len(runs)
    self._finished = len(runs) - len(todo)
    self._failed = self._diverged = 0
    _say(
      f'{title}: {text_table.count(len(runs), "run")}, {self._finished} finished '
      f'before, up to {num_processes} at a time'
    )
    # The bar counts the work of this execution, for the time left.
    self._bar = tqdm.tqdm(
      total=sum(run.work for run in todo),
      desc=title,
      bar_format=_BAR,
      postfix=self._counts(),
      dynamic_ncols=True,
      disable=None,
    )

  def _counts(self) -> str:
    failed = f', {self._failed} failed' if self._failed else ''
    diverged = f', {self._diverged} diverged' if self._diverged else ''
    runs = text_table.count(self._num_runs, 'run')
    return f'{self._finished}/{runs}{diverged}{failed}'

  def update(
    self,
    run: plan_lib.PlannedRun,
    error: str | None,
    seconds: float,
    diverged: int | None = None,
  ) -> None:
    """Shows that a run has ended, maybe since it diverged in a round."""
    self._diverged += diverged is not None
    self._failed += bool(error)
    self._finished += not error
    line = f'FAILED {run.name}: {error}' if error else run.name
    if diverged is not None:
      line = f'{run.name} diverged in round {diverged}'
    if self._bar.disable:
      _say(f'{self._counts()}: {line} ({seconds:.0f} s)')
    elif error or diverged is not None:
      self._bar.write(line, file=sys.stderr)
    self._bar.set_postfix_str(self._counts(), refresh=False)
    self._bar.update(run.work)

  def close(self) -> None:
    """Ends the line of the bar."""
    self._bar.close()


def _say_failures(
  folder: sweep_folder.SweepFolder, failures: Mapping[str, str]
) -> None:
  """Prints why runs have failed, each reason once."""
  by_reason: dict[str, list[str]] = {}
  for name, reason in failures.items():
    by_reason.setdefault(reason, []).append(name)
  for reason, names in by_reason.items():
    _say(f'FAILED: {reason} (see {folder.log_path(names[0])})')
    runs = [name for name in names if name != _PLOTS]
    if runs:
      _say(f'  {text_table.count(len(runs), "run")}: {", ".join(runs)}')


def _say(line: str) -> None:
  print(line, file=sys.stderr, flush=True)

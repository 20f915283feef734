# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A sweep in one folder, after the runs that tune it.

This is plain Python, without TensorFlow.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import os
import sys
from typing import Any

from fedfish_tff import errors
from fedfish_tff import trust as trust_lib
from launch.configs import sweeps
from launch.methods import config_fields
from launch.results import sweep_folder
from launch.sweeps import execution
from launch.sweeps import folder as folder_lib
from launch.sweeps import plan as plan_lib
from launch.sweeps import tuning

from ml_collections import ConfigDict


@dataclasses.dataclass(frozen=True, kw_only=True)
class TunedSweep:
  """The runs of an experiment and the options of their execution.

  Attributes:
    source: The config file, for errors, commands and titles.
    get_config: A function that returns the config of a variant.
    experiment: The runs, and those that tune them.
    path: The folder of the sweep.
    given: The values of fields to set in all runs, by dotted name.
    trust: The trust in the programs that configs name.
    tuned_by: The folder of another sweep that has tuned the runs.
    tuned_metric: The metric on validation clients that chooses; None for the
      task's.
    evaluated: Whether launch.evaluate also scores the runs.
    columns: The columns of the table, as for `result_table.parse_columns`.
    options: The further options of both `execution.Sweep`s.
  """

  source: str
  get_config: Callable[[str], ConfigDict]
  experiment: sweeps.Experiment
  path: str | os.PathLike[str]
  given: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  trust: trust_lib.Trust = trust_lib.PYTHON
  tuned_by: str | os.PathLike[str] | None = None
  tuned_metric: str | None = None
  evaluated: bool = False
  columns: Sequence[str] | None = None
  options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

  def __post_init__(self) -> None:
    tunes = bool(self.experiment.tuning)
    if tunes and self.tuned_by:
      raise errors.InputError(
        f'--tuned_by={self.tuned_by} and runs that tune both choose values, so '
        'that one must be left out.'
      )
    if self.tuned_metric and not (tunes or self.tuned_by):
      raise errors.InputError(
        '--tuned_metric says what decides about the rates of --tuned_by or '
        '--tune, which is missing.'
      )

  def describe(self) -> None:
    """Prints the numbers of runs and the time left."""
    self._check_folder()
    before, runs, notes = self._tuning, self.experiment.runs, []
    if before is not None:
      before.describe()
    if before is None or not before.count_todo():
      runs, notes = self._tune()
    else:
      runs = self._assume_chosen()
    sweep = self._sweep(runs, notes)
    sweep.describe()
    if runs != self.experiment.runs and not notes:
      print('This assumes that the values which are best so far remain so.')
    told = [sweep] if before is None else [before, sweep]
    print(execution.tell_time(told))

  def execute(self) -> dict[str, str]:
    """Runs what is unfinished, prints the table and writes all results.

    Returns:
      The reasons why runs have failed, by name.

    Raises:
      KeyboardInterrupt: On Ctrl-C; the message says how to continue.
    """
    self._check_folder()
    failures = {}
    if self._tuning is not None:
      failures |= self._tuning.execute()
    runs, notes = self._tune()
    for line in notes:
      print(line, file=sys.stderr, flush=True)
    return failures | self._sweep(runs, notes).execute()

  @functools.cached_property
  def _folder(self) -> sweep_folder.SweepFolder:
    return sweep_folder.SweepFolder(self.path)

  @functools.cached_property
  def _tuning(self) -> execution.Sweep | None:
    """The sweep that tunes, in a folder of the sweep's; None without one."""
    if not self.experiment.tuning:
      return None
    return execution.Sweep(
      source=self.source,
      runs=self._plan(self.experiment.tuning),
      path=self._folder.tuning_path,
      tuned=self.experiment.tuned,
      **self.options,
    )

  def _check_folder(self) -> None:
    """Refuses wrong values and another folder before anything is trained."""
    planned, folder = self._plan(self.experiment.runs), self._folder
    tunes, tuned = bool(self.experiment.tuning), folder.tuning_path.exists()
    if tuned and not tunes:
      raise errors.InputError(
        f'{self.path} holds a sweep that was tuned there, and this one tunes '
        'nothing. Choose another --sweep_dir.'
      )
    if folder.sweep_path.exists() and tunes and not tuned:
      raise errors.InputError(
        f'{self.path} holds a sweep that was not tuned there, and this one tunes '
        f'{", ".join(self.experiment.tuned)}. Choose another --sweep_dir.'
      )
    # The values of another folder's tuning are not known yet.
    if not self.tuned_by:
      folder_lib.fit_runs(folder, planned, chosen=self._chosen)

  @property
  def _chosen(self) -> list[str]:
    """The fields whose values this sweep's own tuning chooses."""
    if not self.experiment.tuning:
      return []
    return [*self.experiment.tuned, config_fields.FINE_TUNING_RATES]

  def _assume_chosen(self) -> Sequence[sweeps.Run]:
    """Returns the runs with the values of tuned fields that they have there."""
    runs = self.experiment.runs
    values = folder_lib.find_chosen(
      self._folder, self._plan(runs), self._chosen
    )
    return tuple(
      dataclasses.replace(run, overrides={**run.overrides, **own})
      for run, own in zip(runs, values, strict=True)
    )

  def _plan(self, runs: Sequence[sweeps.Run]) -> list[plan_lib.PlannedRun]:
    return plan_lib.plan_runs(
      self.source, self.get_config, runs, given=self.given, trust=self.trust
    )

  def _tune(self) -> tuple[Sequence[sweeps.Run], list[str]]:
    """Returns the runs with tuned values, and sentences on these."""
    runs = self.experiment.runs
    path = self.tuned_by
    if self.experiment.tuning:
      path = self._folder.tuning_path
    if path is None:
      return runs, []
    tuned = tuning.Tuning(path, metric=self.tuned_metric)
    runs = tuned.tune(runs, self.given)
    runs = tuned.add_candidates(
      runs, self._plan(runs), self.given, self.experiment.fine_tuning_rates
    )
    return runs, tuned.describe(self._plan(runs), self.given)

  def _sweep(
    self, runs: Sequence[sweeps.Run], notes: Sequence[str]
  ) -> execution.Sweep:
    return execution.Sweep(
      source=self.source,
      runs=self._plan(runs),
      path=self.path,
      evaluated=self.evaluated,
      columns=self.columns,
      chosen=self._chosen,
      notes=notes,
      **self.options,
    )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a sweep after the runs that tune it, none of which trains."""

import contextlib
import dataclasses
import io
import json
import types
from unittest import mock

from fedfish_tff import errors
from launch.configs import digits
from launch.configs import sweeps
from launch.plots import sweep_plots
from launch.results import sweep_folder
from launch.sweeps import tuned_sweep
from launch.sweeps import worker
from launch.sweeps import workers
from tests import temporary_folders
from tests.launch.sweeps import fake_sweeps

_RATE = 'client_learning_rate'
_CANDIDATES = 'evaluation.personalization_learning_rates'
# The rates at which accuracies are best, and the loss is least.
_BEST = {'fed_avg': 0.06, 'fed_fish': 0.1, 'fed_prox': 0.06}
_LEAST_LOSS = 0.01


class TunedSweepTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self.path = self.folder / 'sweep'
    self.trained, self.fails = [], ()
    for owner, name, effect in (
      (workers.Workers, 'run', self._train),
      (sweep_plots, 'draw', None),
    ):
      self.enter_context(
        mock.patch.object(owner, name, autospec=True, side_effect=effect)
      )

  def _train(self, unused_workers, jobs, on_end, **unused):
    """Leaves what runs of a minute leave."""
    for job in jobs:
      self.trained.append(job.name)
      error = 'no data' if job.name in self.fails else None
      if error is None:
        config, path = job.arguments['config'], job.arguments['workdir']
        accuracy = 1 - abs(config[_RATE] - _BEST[config['algorithm']['name']])
        loss = abs(config[_RATE] - _LEAST_LOSS)
        run = types.SimpleNamespace(
          name=job.name, config=types.SimpleNamespace(values=config)
        )
        fake_sweeps.write_result(
          sweep_folder.SweepFolder(path.partition('/runs/')[0]),
          run,
          accuracy,
          loss=loss,
          evaluated=job.arguments['evaluated'],
        )
      on_end(job, worker.Outcome(error, seconds=60.0))

  def _sweep(
    self,
    methods=('fed_avg', 'fed_fish'),
    rates=(0.05, 0.1),
    candidates=(0.05, 0.01),
    **own,
  ):
    tuned = {_RATE: rates} if rates else None
    experiment = sweeps.compare(
      digits.get_config, methods, seeds=2, tuned=tuned
    )
    return tuned_sweep.TunedSweep(
      **{
        'source': fake_sweeps.SOURCE,
        'get_config': digits.get_config,
        'experiment': dataclasses.replace(
          experiment, fine_tuning_rates=candidates
        ),
        'path': self.path,
        'options': {'num_processes': 1},
        **own,
      }
    )

  def _call(self, function):
    """Returns what is returned, printed, and trained."""
    out, err, self.trained = io.StringIO(), io.StringIO(), []
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
      returned = function()
    return returned, out.getvalue(), err.getvalue()

  def _values(self, field):
    """Returns the values of a field by the names of the sweep's runs."""
    runs = json.loads((self.path / 'sweep.json').read_text())['runs']
    return {name: run['fields'].get(field) for name, run in runs.items()}

  def test_what_is_best_is_run_told_and_kept(self):
    failures, out, err = self._call(
      self._sweep(evaluated=True, columns=['csb']).execute
    )
    self.assertEmpty(failures)
    self.assertEqual(
      self._values(_RATE),
      {
        f'{method}-seed_{seed}': rate
        for method, rate in (('fed_avg', 0.05), ('fed_fish', 0.1))
        for seed in (0, 1)
      },
    )
    for candidates in self._values(_CANDIDATES).values():
      self.assertEqual(candidates, [0.01, 0.05])
    # Two rates with two seeds tune each method, before any run that counts.
    self.assertLen(self.trained, 12)
    self.assertCountEqual(self.trained[8:], self._values(_RATE))
    self.assertLen(list(self.path.glob('**/evaluation/summary.csv')), 4)
    self.assertEqual(out.count('| Method'), 1)
    table = (self.path / 'table.md').read_text()
    self.assertIn('Barrier in accuracy', table)
    self.assertNotIn('Test accuracy', table)
    told = 'of 0.05, 0.1: 0.05 for FedAvg; 0.1 for FedFish.'
    for text in (err, table):
      self.assertIn(told, text)
    _, out, _ = self._call(self._sweep(evaluated=True).describe)
    self.assertIn(f'8 runs to tune {_RATE}, 0 to do', out)
    self.assertIn('\n4 runs, 0 to do', out)
    self.assertNotIn('assumes', out)

  def test_a_larger_command_continues(self):
    given = {_CANDIDATES: (0.3,)}
    self._call(self._sweep(given=given).execute)
    methods = tuple(_BEST)
    larger = self._sweep(methods, given=given)
    _, out, _ = self._call(larger.describe)
    self.assertIn(f'12 runs to tune {_RATE}, 4 to do', out)
    self.assertIn('\n6 runs, 2 to do', out)
    self.assertIn('assumes that the values which are best so far', out)
    self.assertIn('About 6 minutes left', out)
    self._call(larger.execute)
    self.assertLen(self.trained, 6)
    with self.assertRaisesRegex(
      errors.InputError, r'\[0.3\] there, \[0.4\] asked'
    ):
      self._call(self._sweep(methods, given={_CANDIDATES: (0.4,)}).execute)
    # What was best is no longer: its runs do not count.
    wider = self._sweep(methods, (0.05, 0.1, 0.2), given=given)
    with mock.patch.dict(_BEST, fed_avg=0.2):
      self._call(wider.execute)
    self.assertLen(self.trained, 6 + 2)
    self.assertIn(
      'Not in the table: 2 earlier runs of fed_avg',
      (self.path / 'table.md').read_text(),
    )

  def test_failures_of_tuning_are_told(self):
    (name, *_) = self.fails = [f'fed_avg-{_RATE}_0.05-seed_100']
    failures, _, err = self._call(self._sweep().execute)
    self.assertEqual(failures, {name: 'no data'})
    self.assertIn(f'without a part in the choice: {name}', err)
    self.assertEqual(self._values(_RATE)['fed_avg-seed_0'], 0.1)

  def test_another_folder_tunes_by_a_metric(self):
    self._call(self._sweep().execute)
    by = dict(rates=(), tuned_by=self.path / 'tuning', path=self.folder / 'by')
    self.path = by['path']
    self._call(self._sweep(**by).execute)
    self.assertEqual({*self._values(_RATE).values()}, {0.05, 0.1})
    # The same command finds its runs.
    self._call(self._sweep(**by).execute)
    self.assertEmpty(self.trained)
    self.path = by['path'] = self.folder / 'by_loss'
    self._call(self._sweep(**by, tuned_metric='loss').execute)
    self.assertEqual({*self._values(_RATE).values()}, {0.05})

  def test_a_folder_that_was_tuned_or_not_stays_so(self):
    self._call(self._sweep(rates=()).execute)
    with self.assertRaisesRegex(errors.InputError, 'not tuned there, and'):
      self._call(self._sweep().execute)
    self.path = self.folder / 'tuned'
    self._call(self._sweep().execute)
    with self.assertRaisesRegex(errors.InputError, 'this one tunes nothing'):
      self._call(self._sweep(rates=()).describe)

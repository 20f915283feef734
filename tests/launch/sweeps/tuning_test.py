# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of taking learning rates from another sweep."""

import dataclasses

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.configs import fed3r_digits
from launch.configs import sweeps
from launch.results import run_table
from launch.results import sweep_results
from launch.sweeps import folder as folder_lib
from launch.sweeps import tuning
from tests import temporary_folders
from tests.launch.sweeps import fake_sweeps

_RATES = (0.01, 0.05)


class SweepTuningTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self.path = self.folder / 'tuning'

  def _tuned(self, value_of, **fields):
    """Writes a finished sweep over rates; returns its runs."""
    runs = fake_sweeps.plan(
      sweeps.grid(
        ['fed_avg', 'fed_fish'],
        {
          **fields,
          'client_learning_rate': _RATES,
          'server_learning_rate': (1.0, 5.0),
        },
        fixed={'rounds': 12},
      )
    )
    folder = fake_sweeps.write_sweep(self.path, runs)
    for run in runs:
      fake_sweeps.write_result(folder, run, value_of(run))
    return folder, runs

  def test_takes_the_best_of_the_same_variant_and_epochs(self):
    wanted = {
      ('fed_avg', 1): (0.01, 1.0),
      ('fed_avg', 8): (0.05, 1.0),
      ('fed_fish', 1): (0.05, 5.0),
      ('fed_fish', 8): (0.01, 5.0),
    }

    def value_of(run):
      rates = tuple(
        run.fields[f'{s}_learning_rate'] for s in ('client', 'server')
      )
      return float(rates == wanted[run.variant, run.fields['local_epochs']])

    self._tuned(value_of, local_epochs=(1, 8), seed=(7,))
    # Other rounds, seeds and evaluations do not matter.
    runs = sweeps.fixed_compute(
      ['fed_avg', 'fed_fish'],
      total_local_epochs=16,
      evaluations=2,
      local_epochs=(1, 8),
    )
    tuned = tuning.Tuning(self.path).tune(runs)
    self.assertLen(tuned, len(runs))
    for before, after in zip(runs, tuned):
      client, server = wanted[after.variant, after.overrides['local_epochs']]
      self.assertEqual(
        after.overrides,
        {
          **before.overrides,
          'client_learning_rate': client,
          'server_learning_rate': server,
        },
      )
    values, _, edges = tuning.Tuning(self.path).describe(
      fake_sweeps.plan(tuned)
    )
    self.assertIn('client_learning_rate 0.01 of FedAvg, 1 local epoch', edges)
    self.assertStartsWith(
      values,
      'Tuned with seed 7, by Accuracy, global model on validation clients for '
      'each method. client_learning_rate, of 0.01, 0.05: 0.01 for FedAvg, 1 '
      'local epoch; 0.05 for FedAvg, 8 local epochs; ',
    )
    # The names need no rates: they follow from variant and epochs.
    names = [run.name for run in fake_sweeps.plan(tuned)]
    self.assertEqual(names[0], 'fed_avg-local_epochs_1-seed_0')

  def test_only_fields_with_several_values_of_a_method_are_told(self):
    client, server = 'client_learning_rate', 'server_learning_rate'
    methods = ('fed_avg', 'fed_avg,server=adam')
    runs = fake_sweeps.plan(
      [
        *sweeps.grid(methods[:1], {client: (0.1, 0.2, 0.4)}),
        *sweeps.grid(methods[1:], {client: (0.1, 0.4), server: (0.01, 0.03)}),
      ]
    )
    with folder_lib.open_folder(
      self.path, fake_sweeps.SOURCE, runs, tuned=(client, server)
    ) as folder:
      for run in runs:
        fake_sweeps.write_result(folder, run, 0.5)
    judged = fake_sweeps.plan(sweeps.grid(methods, {}))
    told = ' '.join(tuning.Tuning(self.path).describe(judged))
    # The server of FedAvg has the rate 1.
    self.assertIn(
      f'{client}, of 0.1, 0.2, 0.4: 0.1 for FedAvg; '
      f'{client}, of 0.1, 0.4: 0.1 for FedAdam; '
      f'{server}, of 0.01, 0.03: 0.01 for FedAdam.',
      told,
    )

  def test_candidates_beside_a_rate_of_the_server(self):
    runs = fake_sweeps.plan(
      [sweeps.Run('fed_avg', {'server_learning_rate': 2})]
    )
    with folder_lib.open_folder(
      self.path, fake_sweeps.SOURCE, runs, tuned=('server_learning_rate',)
    ) as folder:
      fake_sweeps.write_result(folder, runs[0], 0.5)
    judged = (sweeps.Run('fed_avg', {}),)
    add = tuning.Tuning(self.path).add_candidates
    planned = fake_sweeps.plan(judged)
    self.assertEqual(add(judged, planned), judged)
    (found,) = add(judged, planned, rates=(0.1, 0.05))
    self.assertEqual(
      found.overrides,
      {'evaluation.personalization_learning_rates': (0.05, 0.1)},
    )

  def test_the_score_that_tuned_each_method_is_told(self):
    rates = {'client_learning_rate': (0.1, 0.2)}
    runs = fake_sweeps.plan(sweeps.grid(['fed_avg', 'fed_per'], rates))
    folder = fake_sweeps.write_sweep(self.path, runs)
    for run in runs:
      fake_sweeps.write_result(
        folder,
        run,
        0.5,
        judged_by='personalized' if run.variant == 'fed_per' else 'global',
      )
    judged = fake_sweeps.plan(sweeps.grid(['fed_avg', 'fed_per'], {}))
    told, *_ = tuning.Tuning(self.path).describe(judged)
    self.assertStartsWith(
      told,
      'Tuned with seed 0, by Accuracy, global model on validation clients for '
      'FedAvg; by Accuracy on one half of the data of validation clients, after',
    )

  def test_runs_choose_the_rate_of_fine_tuning_from_all_client_rates(self):
    # FedMA does not declare what runs of a sweep may share.
    variants = ['fed_avg', 'fed_ma', 'hf_maml']
    tuned_runs = fake_sweeps.plan(
      [
        sweeps.Run(v, {'client_learning_rate': rate})
        for v, rates in zip(variants, ((0.1, 0.05), (0.2,), (0.3,)))
        for rate in rates
      ]
    )
    folder = fake_sweeps.write_sweep(self.path, tuned_runs)
    for run in tuned_runs:
      fake_sweeps.write_result(folder, run, 0.5)
    field = 'evaluation.personalization_learning_rates'
    epochs = 'evaluation.personalization_epochs'
    runs = [
      *(sweeps.Run(variant) for variant in variants),
      sweeps.Run('fed_avg', {epochs: 0}),
      sweeps.Run('fed_avg', {field: (7.0,)}),
    ]
    tuned = tuning.Tuning(self.path)
    found = tuned.add_candidates(runs, fake_sweeps.plan(runs))
    rates = (0.05, 0.1, 0.2, 0.3)
    self.assertEqual(
      [run.overrides.get(field) for run in found],
      # A rate is built into hf_maml.
      [rates, rates, None, None, (7.0,)],
    )
    (shared,) = tuned.add_candidates(
      runs[:1], fake_sweeps.plan(runs[:1]), rates=(0.5, 0.01)
    )
    self.assertEqual(shared.overrides[field], (0.01, 0.5))
    given = {field: (0.01,)}
    self.assertEqual(
      tuned.add_candidates(runs[:1], fake_sweeps.plan(runs[:1], given), given),
      tuple(runs[:1]),
    )
    lines = tuned.describe(fake_sweeps.plan(found[:3]))
    self.assertContainsSubset(
      [
        'Fine-tuning with the rate among 0.05, 0.1, 0.2, 0.3 that is best on '
        'validation clients: FedAvg; FedMA.',
        'Fine-tuning with algorithm.personal_learning_rate: HF-MAML.',
      ],
      lines,
    )

  def test_what_differs_besides_is_said(self):
    self._tuned(lambda run: 0.5)
    runs = tuning.Tuning(self.path).tune([sweeps.Run('fed_avg')])
    planned = fake_sweeps.plan(runs, {'cohort_size': 9})
    self.assertIn(
      'was tuned with another cohort_size.',
      tuning.Tuning(self.path).describe(planned)[-1],
    )
    config = dataclasses.replace(planned[0].config, task={'name': 'arrays'})
    planned = [dataclasses.replace(planned[0], config=config)]
    with self.assertRaisesRegex(errors.InputError, "sweep of task .*'digits'"):
      tuning.Tuning(self.path).describe(planned)

  def test_a_given_value_counts_instead_of_the_value_of_the_sweep(self):
    self._tuned(lambda run: 0.5, local_epochs=(1, 8))
    runs = [sweeps.Run('fed_avg', {'local_epochs': 1})]
    given = {'local_epochs': 8}
    tuned = tuning.Tuning(self.path)
    with self.assertRaisesRegex(errors.InputError, 'varies local_epochs'):
      tuned.tune(runs, given)
    planned = fake_sweeps.plan(runs, given)
    self.assertEqual(
      (planned[0].config.local_epochs, planned[0].fields), (8, {})
    )
    self.assertIn(
      'tuned with another local_epochs.', tuned.describe(planned, given)[-1]
    )

  def test_a_closed_form_among_the_runs_has_no_rates(self):
    get_config = fed3r_digits.get_config
    runs = fake_sweeps.plan(
      [sweeps.Run('fed3r'), sweeps.Run('fed_avg')], get_config=get_config
    )
    folder = fake_sweeps.write_sweep(self.path, runs)
    for run in runs:
      fake_sweeps.write_result(folder, run, 0.5)
    tuned = tuning.Tuning(self.path).tune(
      [sweeps.Run('fed3r'), sweeps.Run('fed_avg')]
    )
    self.assertEqual(
      [sorted(run.overrides) for run in tuned],
      [[], ['client_learning_rate', 'server_learning_rate']],
    )
    planned = fake_sweeps.plan(tuned, get_config=get_config)
    self.assertEmpty(tuning.Tuning(self.path).describe(planned))

  def test_failed_runs_have_no_part(self):
    def value_of(run):
      return run.fields['client_learning_rate'] + run.fields['seed']

    folder, runs = self._tuned(value_of, seed=(0, 1))
    best = [
      run
      for run in runs
      if run.variant == 'fed_avg' and run.fields['client_learning_rate'] == 0.05
    ]
    # One seed has failed at the best client rate with either server rate.
    failed = best[:2]
    for run in failed:
      (folder.workdir(run.name) / 'summary.json').unlink()
    self._refused(
      [sweeps.Run('fed_avg')],
      r'2 of its 16 runs are not finished \(.*, \.\.\.\);',
    )
    self._write_failures(folder, failed)
    tuned = tuning.Tuning(self.path).tune(
      [sweeps.Run('fed_avg'), sweeps.Run('fed_fish')]
    )
    self.assertEqual(
      [run.overrides['client_learning_rate'] for run in tuned], [0.01, 0.05]
    )
    note = tuning.Tuning(self.path).describe(fake_sweeps.plan(tuned))[-1]
    self.assertIn('2 runs of', note)
    self.assertIn(f'{failed[0].name}, {failed[1].name}.', note)
    every = [run for run in runs if run.variant == 'fed_avg']
    for run in every:
      (folder.workdir(run.name) / 'summary.json').unlink(missing_ok=True)
    self._write_failures(folder, every)
    self._refused([sweeps.Run('fed_avg')], 'fed_avg have diverged or failed')

  def _write_failures(self, folder, runs):
    simulation.write_atomically(
      folder.path / 'runs.csv',
      run_table.to_csv(
        sweep_results.read_results(folder),
        failures={run.name: 'killed' for run in runs},
        usage={},
      ),
    )

  def test_another_algorithm_is_refused(self):
    self._tuned(lambda run: 0.5)
    runs = tuning.Tuning(self.path).tune([sweeps.Run('fed_avg')])
    planned = fake_sweeps.plan(runs, {'algorithm.server_optimizer': 'adam'})
    with self.assertRaisesRegex(
      errors.InputError, 'with another algorithm.server_optimizer'
    ):
      tuning.Tuning(self.path).describe(planned)
    runs = tuning.Tuning(self.path).tune([sweeps.Run('fed_fish')])
    planned = fake_sweeps.plan(runs, {'algorithm.diagnostics': True})
    self.assertIn(
      'another algorithm.diagnostics.',
      tuning.Tuning(self.path).describe(planned)[-1],
    )

  def test_another_metric_decides_if_asked_for(self):
    runs = fake_sweeps.grid(
      ['fed_avg'], client_learning_rate=(0.01, 0.02, 0.05)
    )
    folder = fake_sweeps.write_sweep(self.path, runs)
    # The best accuracy, at the edge, has not the least loss.
    for run, accuracy, loss in zip(runs, (0.4, 0.5, 0.6), (2.0, 1.5, 2.5)):
      fake_sweeps.write_result(folder, run, accuracy, loss=loss)
    for metric, expected in ((None, 0.05), ('accuracy', 0.05), ('loss', 0.02)):
      tuned = tuning.Tuning(self.path, metric=metric)
      (run,) = tuned.tune([sweeps.Run('fed_avg')])
      self.assertEqual(run.overrides['client_learning_rate'], expected)
      told = ' '.join(tuned.describe(fake_sweeps.plan([run])))
      self.assertEqual('edge of its grid' in told, expected == 0.05)
    # One that there is not, and a count.
    for metric in ('perplexity', 'num_examples'):
      with self.assertRaisesRegex(errors.InputError, 'accuracy, loss'):
        tuning.Tuning(self.path, metric=metric).tune([sweeps.Run('fed_avg')])

  def _refused(self, runs, message, given=()):
    with self.assertRaisesRegex(errors.InputError, message):
      tuning.Tuning(self.path).tune(runs, given)

  def test_bad_input(self):
    self._refused(
      [sweeps.Run('fed_avg')], 'tuning is not the folder of a sweep'
    )
    folder, runs = self._tuned(lambda run: 0.5, local_epochs=(1, 8))
    self._refused(
      [sweeps.Run('damped', {'local_epochs': 1})],
      'runs of damped, local_epochs 1',
    )
    self._refused(
      [sweeps.Run('fed_avg', {'local_epochs': 16})],
      'runs of fed_avg, local_epochs 16',
    )
    self._refused(
      [sweeps.Run('fed_avg')],
      'varies local_epochs, which this sweep does not set',
    )
    self._refused(
      [sweeps.Run('fed_avg', {'client_learning_rate': 1.0})],
      'gives client_learning_rate, which the command or the sweep must',
    )
    rate = 'server_learning_rate'
    self._refused([sweeps.Run('fed_avg')], f'tuning gives {rate}', [rate])
    for run in runs:
      fake_sweeps.write_result(folder, run, None)
    self._refused(
      [sweeps.Run('fed_avg', {'local_epochs': 1})],
      'all runs of fed_avg, local_epochs 1 have diverged',
    )
    (folder.workdir(runs[3].name) / 'summary.json').unlink()
    self._refused(
      [sweeps.Run('fed_avg', {'local_epochs': 1})],
      rf'1 of its 16 runs is not finished \({runs[3].name}\);',
    )

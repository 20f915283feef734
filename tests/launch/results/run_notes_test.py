# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what one has to know of runs."""

import dataclasses
import math

from launch.results import frames
from launch.results import run_notes
from tests.launch.results import fake_runs
from tests.launch.sweeps import fake_sweeps

from absl.testing import parameterized


def _describe(runs, *args):
  frames = fake_runs.named({'FedAvg': runs})
  return run_notes.describe(frames, 'a mean', *args)


class RunNotesTest(parameterized.TestCase):
  def test_seeds_and_clients(self):
    runs = [fake_runs.make_run(seed=seed) for seed in (0, 1)]
    for run in runs:
      run.config['cohort_size'] = 1
    note = _describe(runs)
    self.assertEqual(
      note, '2 seeds: a mean. 1 of 24 training clients per round.'
    )
    note = _describe(runs[:1])
    self.assertStartsWith(note, '1 seed, nothing is pooled. ')
    found = fake_runs.named({'FedAvg': runs, 'FedFish': runs[:1]})
    note = run_notes.describe(found, 'a mean')
    self.assertStartsWith(note, '1 to 2 seeds (1: FedFish): a mean. ')

  @parameterized.parameters(
    ([{}, {}], ''),
    ([{'cohort_size': 5}, {}], '5 of 24 training clients per round'),
    (
      [{'cohort_size': 5}, {'cohort_size': 10}],
      '5 to 10 of 24 training clients per round',
    ),
    (
      [{'cohort_size': 8, 'participation': {'name': 'srpfl', 'n0': 2}}],
      '2 to 8 of 24 training clients per round',
    ),
    (
      [{'cohort_size': 5, 'max_examples_per_client': 16}] * 2,
      '5 of 24 training clients per round, at most 16 examples of each',
    ),
    (
      [{'cohort_size': 5, 'max_examples_per_client': n} for n in (16, None)],
      '5 of 24 training clients per round',
    ),
  )
  def test_cohorts_of_training_clients(self, each, expected):
    runs = [fake_runs.make_run(seed=seed) for seed in range(len(each))]
    for run, own in zip(runs, each):
      run.config.update(own)
    found = fake_runs.named({'FedAvg': runs}).runs
    self.assertEqual(run_notes.tell_clients(found), expected)
    # A run of an earlier version has not noted its clients.
    old = run_notes.tell_clients(found.assign(clients=None))
    self.assertNotIn('24', old)
    self.assertEqual(bool(old), bool(expected))

  def test_runs_without_the_metric_do_not_count(self):
    runs = [fake_runs.make_run(seed=seed) for seed in (0, 1)]
    del runs[1].columns['train/loss']
    self.assertEqual(
      _describe(runs, 'train/loss'),
      '1 seed, nothing is pooled.',
    )

  def test_lengths_of_methods_and_of_seeds(self):
    self.assertEmpty(run_notes.tell_lengths({'a': [6, 6], 'b': [6]}))
    self.assertEndsWith(
      run_notes.tell_lengths({'a': [6, 4], 'b': [6], 'c': [6]}),
      'up to round 4 to 6: a; up to round 6: b; c',
    )

  def test_lines_of_one_seed_are_no_means(self):
    self.assertEqual(run_notes.tell_lines([1, 1]), 'Lines are of 1 seed')
    for counts, seeds in (([2, 2], '2 seeds;'), ([1, 3], '1 to 3 seeds;')):
      self.assertStartsWith(
        run_notes.tell_lines(counts), f'Lines: means over {seeds}'
      )

  def test_groups_of_a_sweep(self):
    runs = fake_sweeps.grid(['fed_avg'], seed=(0, 1))
    runs += fake_sweeps.grid(['fed_fish'], rounds=(10,), seed=(0, 1))
    each = [{}, {'stopped_at': 20}, {}, {}]
    _, found = fake_sweeps.write_results(self, runs, [0.5] * 4, each)
    self.assertEqual(
      run_notes.describe_finished(found, 'a mean'),
      '2 seeds: a mean. 5 of 24 training clients per round. Runs of different '
      'lengths, whose rounds do not correspond, up to round 20 to 50: fed_avg; '
      'up to round 10: fed_fish.',
    )

  def test_runs_that_have_diverged(self):
    runs = fake_sweeps.grid(['fed_avg', 'fed_fish', 'fed_prox'], seed=(0, 1))
    each = [{}, {'diverged': 3}, {'diverged': 3}, {'diverged': 5}, {}, {}]
    _, found = fake_sweeps.write_results(self, runs, [0.5] * 6, each)
    told = (
      'Diverged in round 3: fed_avg (1 of 2 runs); '
      'in round 3 to 5: fed_fish (2 of 2 runs)'
    )
    self.assertEqual(run_notes.tell_diverged(found, 'variant'), told)
    # Their ends are no lengths.
    note = run_notes.describe_finished(found, 'a mean')
    self.assertEndsWith(note, f'per round. {told}.')
    self.assertEqual(run_notes.tell_diverged(found[4:], 'variant'), '')
    # A method of one run has no share of its runs.
    self.assertEqual(
      run_notes.tell_diverged(found[1:2], 'variant'),
      'Diverged in round 3: fed_avg',
    )

  def test_a_diverged_run_is_drawn_up_to_there(self):
    runs = [
      dataclasses.replace(
        fake_runs.make_run(seed=seed),
        values={'test/global/accuracy': 0.5},
        diverged_round=diverged,
      )
      for seed, diverged in ((0, None), (1, fake_runs.ROUNDS[1]))
    ]
    workdirs = [
      fake_runs.write_run(run, self.create_tempdir().full_path + '/w')
      for run in runs
    ]
    found = frames.read(workdirs)
    column = 'eval/global/accuracy'
    drawn = found.drawn(column)
    self.assertEqual(
      [list(drawn.loc[run].index) for run in (0, 1)],
      [list(fake_runs.ROUNDS), [fake_runs.ROUNDS[0]]],
    )
    note = run_notes.describe(found, 'a mean', column)
    self.assertEndsWith(note, 'Diverged in round 4: FedAvg (1 of 2 runs).')
    self.assertNotIn('different lengths', note)
    self.assertEqual(list(found.runs['status']), ['finished', 'diverged'])
    self.assertEqual(found.runs['test/global/accuracy'][1], math.inf)

  def test_a_title_names_the_only_task(self):
    runs = [fake_runs.make_run(task=task) for task in ('digits', 'emnist')]
    found = fake_runs.named({'a': runs}).runs
    self.assertEqual(run_notes.name_task('Loss', found[:1]), 'Loss (digits)')
    self.assertEqual(run_notes.name_task('Loss', found), 'Loss')

  @parameterized.parameters(
    ([{}, {}], ''),
    ([{'rate': 0.05}, {}], 'FedAvg with rate 0.05; FedFish with rate 0.1'),
    # Validation clients chose it.
    (
      [{'chosen': 0.5}, {'rate': 0.02}],
      'FedAvg with rate 0.5; FedFish with rate 0.02',
    ),
    ([{'chosen': math.inf}, {}], ''),
    # A method with a rate of its own.
    (
      [{'own': 0.01}, {}],
      'FedAvg with rate 0.01; FedFish with rate 0.1',
    ),
    ([{'epochs': 4}, {}], 'FedAvg for 4 epochs; FedFish for 1 epoch'),
    (
      [{'epochs': 4, 'rate': 0.02}, {}],
      'FedAvg for 4 epochs and with rate 0.02; FedFish for 1 epoch and with '
      'rate 0.1',
    ),
    # Without fine-tuning there is nothing to tell.
    ([{'epochs': 0, 'rate': 0.02}, {}], ''),
  )
  def test_runs_that_fine_tune_differently(self, each, expected):
    runs = {}
    for label, own in zip(('FedAvg', 'FedFish'), each):
      run = fake_runs.make_run()
      run.config['client_learning_rate'] = own.get('rate', 0.1)
      run.config['evaluation'] = {
        'personalization_epochs': own.get('epochs', 1)
      }
      if 'own' in own:
        run.config['algorithm']['personal_learning_rate'] = own['own']
      runs[label] = [run]
    table = fake_runs.named(runs).runs
    chosen = [own.get('chosen') for own in each]
    table['validation/personalization_learning_rate'] = chosen
    told = run_notes.tell_fine_tuning(table, ['test/personalized/accuracy'])
    self.assertEqual(told, expected and f'Fine-tuning differs: {expected}')
    self.assertEqual(
      run_notes.tell_fine_tuning(
        table, ['test/global/accuracy', 'eval/personalized/accuracy_before']
      ),
      '',
    )

  def test_runs_that_are_judged_differently(self):
    runs = {
      'FedAvg, 8 local epochs': [fake_runs.make_run()],
      'FedAvg': [fake_runs.make_run()],
      'FedPer': [
        dataclasses.replace(fake_runs.make_run(), judged_by='personalized')
      ],
    }
    told = run_notes.tell_judged(
      fake_runs.named(runs).runs, 'eval/global/accuracy'
    )
    self.assertEqual(
      told,
      'Runs are judged differently, by Accuracy, global model on validation '
      'clients: FedAvg, 8 local epochs; FedAvg; by Accuracy on one half of the '
      'data of validation clients, after fine-tuning on the other: FedPer. '
      'Shown is eval/global/accuracy',
    )
    of_one = {'FedAvg': runs['FedAvg']}
    self.assertEqual(
      run_notes.tell_judged(fake_runs.named(of_one).runs, 'train/loss'), ''
    )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the evaluation of a workdir."""

import json
import shutil
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import trust
from launch.methods import config_checks
from launch.methods import registry
from launch.plots import catalogue
from launch.results import run_reader
from launch.runs import evaluation_run
from launch.runs import experiment
from tests import tolerance
from tests.launch import run_files
from tests.launch import small_configs
from tests.launch import trained_runs

from absl.testing import parameterized
import numpy as np
import pytest
from scipy import special
from sklearn import datasets
import tensorflow as tf


class EvaluationRunTest(small_configs.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._trained = trained_runs.fed_fish_on_digits().workdir

  def setUp(self):
    super().setUp()
    shutil.copytree(self._trained, self.workdir)

  def test_all_of_it(self):
    before = (self.workdir / 'metrics.csv').read_bytes()
    paths = evaluation_run.evaluate(self.workdir, export=True)
    for path in paths:
      self.assertTrue(path.exists(), path)
    self.assertEqual((self.workdir / 'metrics.csv').read_bytes(), before)
    self._check_tables()
    self._check_export()
    self._check_plots()

  def _check_tables(self):
    """The tables agree with the figures that training wrote."""
    summary = json.loads((self.workdir / 'summary.json').read_text())['test']
    table = {
      (row['evaluation'], row['metric']): row
      for row in run_files.read_table(
        self.workdir / 'evaluation' / 'summary.csv'
      )
    }
    self.assertContainsSubset(
      [
        (name, metric)
        for name in (
          'global',
          'before',
          'few_shot_25',
          'after',
          'after minus before',
          'barrier',
        )
        for metric in ('loss', 'accuracy')
      ],
      table,
    )
    for metric in ('loss', 'accuracy'):
      for (name, column), expected in {
        ('global', 'all_examples'): f'global/{metric}',
        ('global', 'mean_by_examples'): f'global/{metric}',
        ('before', 'mean_by_examples'): f'personalized/{metric}_before',
        ('after', 'mean_by_examples'): f'personalized/{metric}',
      }.items():
        self.assertAlmostEqual(
          float(table[name, metric][column]), summary[expected], places=5
        )
    self.assertEqual(
      {(row['round'], row['split']) for row in table.values()},
      {('2', 'test'), ('3', 'train')},  # The latter: the further round.
    )
    clients = run_reader.read_run(self.workdir).clients
    self.assertLen(clients, int(table['global', 'loss']['num_clients']))
    self.assertAlmostEqual(
      clients['after/accuracy'].mean(),
      float(table['after', 'accuracy']['mean']),
    )
    cohort = run_files.read_table(self.workdir / 'evaluation' / 'barrier.csv')
    self.assertLen(cohort, 3)
    self.assertAlmostEqual(
      np.mean([float(row['barrier/loss']) for row in cohort]),
      float(table['barrier', 'loss']['mean']),
    )

  def _check_export(self):
    """The exported model and the exported arrays predict alike."""
    x = np.float32(datasets.load_digits().data[:100] / 16)
    folder = self.workdir / 'export'
    model = tf.saved_model.load(folder / 'saved_model')
    logits = model.signatures['serving_default'](x=tf.constant(x))['output']
    with np.load(folder / 'weights.npz', allow_pickle=False) as arrays:
      kernel, bias, kernel_out, bias_out = (
        arrays[f'trainable_{i}'] for i in range(4)
      )
    expected = np.maximum(x @ kernel + bias, 0) @ kernel_out + bias_out
    tolerance.assert_close(logits, expected, relative=tolerance.FLOAT32_SUMS)

  def _check_plots(self):
    self.assertContainsSubset(
      ['personalization_accuracy.png', 'client_spread_accuracy.png'],
      [path.name for path in (self.workdir / 'plots').iterdir()],
    )

  @pytest.mark.thorough
  def test_ensemble_of_networks_that_are_trained_apart(self):
    config = small_configs.make_config('fed_ma', rounds=1)
    workdir = self.workdir.parent / 'fed_ma'
    small_configs.train(config, workdir)
    evaluation_run.evaluate(workdir)
    built = experiment.build_experiment(config_checks.read(config))
    x, y = map(
      np.concatenate,
      zip(*map(built.task.test.load_client, built.task.test.client_ids)),
    )
    mean = 0
    for tensors in built.built.train_apart(built.load_cohort(1)):
      kernel, bias, kernel_out, bias_out = tensors
      outputs = np.maximum(x @ kernel + bias, 0) @ kernel_out + bias_out
      mean += special.softmax(outputs, axis=1)
    table = {
      (row['evaluation'], row['metric']): row
      for row in run_files.read_table(workdir / 'evaluation' / 'summary.csv')
    }
    self.assertAlmostEqual(
      float(table['ensemble', 'accuracy']['all_examples']),
      np.mean(np.argmax(mean, axis=1) == y),
      places=6,
    )

  @pytest.mark.thorough
  def test_without_ensemble_where_all_diverge(self):
    config = small_configs.make_config(
      'fed_ma', rounds=1, client_learning_rate=1e30
    )
    workdir = self.workdir.parent / 'diverged'
    small_configs.train(config, workdir)
    evaluation_run.evaluate(workdir)
    rows = run_files.read_table(workdir / 'evaluation' / 'summary.csv')
    self.assertEqual({row['evaluation'] for row in rows}, {'global'})

  def test_validation_clients(self):
    test_clients = self.workdir / run_reader.CLIENTS_CSV
    test_clients.parent.mkdir()
    # What was measured on test clients stays, even where it cannot be used.
    test_clients.write_text('client_id,round,split,global/loss\na,1,test,2\n')
    with self.assertLogs(level='WARNING') as logs:
      paths = evaluation_run.evaluate(self.workdir, split='validation')
    self.assertIn(str(self.workdir), logs.output[-1])
    self.assertTrue(test_clients.read_text().endswith('a,1,test,2\n'))
    self.assertContainsSubset(
      [f'validation_{name}.csv' for name in ('clients', 'barrier', 'summary')],
      [path.name for path in paths],
    )
    final = json.loads((self.workdir / 'summary.json').read_text())['final']
    (row,) = [
      row
      for row in run_files.read_table(
        self.workdir / 'evaluation' / 'validation_summary.csv'
      )
      if (row['evaluation'], row['metric']) == ('global', 'accuracy')
    ]
    self.assertEqual((row['round'], row['split']), ('2', 'validation'))
    self.assertAlmostEqual(
      float(row['all_examples']), final['eval/global/accuracy'], places=6
    )
    self.assertFalse((self.workdir / 'export').exists())

  def test_other_data_than_those_of_training(self):
    path = self.workdir / 'data_fingerprint.json'
    fingerprint = json.loads(path.read_text())
    self.assertEqual(fingerprint.keys(), {'train', 'validation', 'test'})
    self.assertLen(set(fingerprint.values()), 3)
    path.write_text(json.dumps({**fingerprint, 'test': '0' * 64}))
    with self.assertRaisesRegex(errors.InputError, f'{path} is not what it'):
      evaluation_run.evaluate(self.workdir)
    self.assertFalse((self.workdir / 'evaluation').exists())

  def test_a_run_without_a_checkpoint(self):
    shutil.rmtree(self.workdir / 'checkpoints')
    with self.assertRaisesRegex(errors.InputError, 'no checkpoint yet'):
      evaluation_run.evaluate(self.workdir)

  @pytest.mark.thorough
  def test_a_damaged_checkpoint_is_named(self):
    for path in (self.workdir / 'checkpoints').iterdir():
      path.write_bytes(b'torn')
    with self.assertRaisesRegex(errors.InputError, 'damaged'):
      evaluation_run.evaluate(self.workdir)

  def test_a_folder_that_is_no_workdir_is_left_alone(self):
    with self.assertRaisesRegex(errors.InputError, 'config.json'):
      evaluation_run.evaluate(self.folder)
    self.assertEqual(list(self.folder.iterdir()), [self.workdir])

  def test_a_place_that_is_taken(self):
    (self.workdir / 'evaluation').write_text('a file')
    with self.assertRaisesRegex(errors.InputError, 'evaluation'):
      evaluation_run.evaluate(self.workdir)


_CLIENTS_KEEP_STATES = 'examples.error_feedback:METHOD'


class BarrierTest(small_configs.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(
      mock.patch.object(catalogue, 'plot_workdir', autospec=True)
    )

  @pytest.mark.thorough
  def test_client_states(self):
    workdir = self._check(f'{_CLIENTS_KEEP_STATES},client_schedule=cosine')
    (workdir / 'client_states.sqlite').unlink()
    with self.assertRaisesRegex(errors.InputError, 'state .*client'):
      evaluation_run.evaluate(workdir, at='half', trust=trust.PYTHON)

  @parameterized.parameters(
    *registry.names('barrier'),
    'fed_avg,weight_average=ema',
    # Without a barrier: clients keep layers, or tune in their own way.
    'fed_rep',
    'hf_maml',
  )
  @pytest.mark.thorough
  def test_methods(self, variant):
    self._check(variant)

  def _check(self, variant):
    """The barrier after the checkpoint half-way is the one of that round."""
    workdir = self.workdir
    config = small_configs.make_config(
      variant, evaluate_every=1, checkpoint_every=1
    )
    barrier = (
      'barrier' in registry.find_method(config['algorithm']['name']).supports
    )
    config['evaluation'].update(barrier=barrier, half_way_checkpoint=True)
    small_configs.train(config, workdir)
    evaluation_run.evaluate(workdir, at='half', trust=trust.PYTHON)
    found = {
      row['metric']: float(row['mean'])
      for row in run_files.read_table(workdir / 'evaluation' / 'summary.csv')
      if row['evaluation'] == 'barrier'
    }
    self.assertEqual(set(found), {'loss', 'accuracy'} if barrier else set())
    row = run_files.read_table(workdir / 'metrics.csv')[
      config['rounds'] // 2 + 1
    ]
    for metric, value in found.items():
      self.assertAlmostEqual(float(row[f'csb/{metric}']), value, places=6)
    return workdir


@pytest.mark.thorough
class ClosedFormTest(small_configs.TestCase):
  @parameterized.parameters(
    ('fed3r', [(64, 8), (8,), (8, 10), (10,)]),
    ('fed_avg,fine_tuning=ft_lp,start=fed3r', [(8, 10), (10,)]),
  )
  def test_evaluates_and_exports_what_was_trained(self, variant, shapes):
    workdir = self.workdir
    config = small_configs.make_config(variant)
    summary = small_configs.train(config, workdir)
    evaluation_run.evaluate(workdir, export=True)
    table = {
      row['metric']: row
      for row in run_files.read_table(workdir / 'evaluation' / 'summary.csv')
    }
    for metric in ('loss', 'accuracy'):
      self.assertAlmostEqual(
        float(table[metric]['all_examples']),
        summary['test'][f'global/{metric}'],
        places=5,
      )
    with np.load(workdir / 'export' / 'weights.npz') as arrays:
      self.assertEqual(
        [arrays[f'trainable_{i}'].shape for i in range(len(shapes))], shapes
      )
    if variant == 'fed_avg,fine_tuning=ft_lp,start=fed3r':
      (workdir / 'start.npz').unlink()
      with self.assertRaisesRegex(
        errors.InputError, f'{workdir}/start.npz is missing, but was there'
      ):
        evaluation_run.evaluate(workdir)

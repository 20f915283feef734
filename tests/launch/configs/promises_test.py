# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what single configs promise."""

import csv
import json
import math

from fedfish_tff import simulation
from launch.configs import c4
from launch.configs import class_shards
from launch.configs import digits
from launch.configs import features
from launch.configs import fed3r_cifar
from launch.configs import fed3r_digits
from launch.configs import fed3r_generated
from launch.configs import fed3r_photographs
from launch.configs import fed_ma_cifar10
from launch.configs import fed_ma_digits
from launch.configs import fed_ma_shakespeare
from launch.configs import keyboard
from launch.configs import srpfl_digits
from launch.configs import stackoverflow
from launch.configs import sweeps
from launch.methods import config_checks
from launch.runs import experiment as experiment_lib
from tests import temporary_folders
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np
import pytest
from sklearn import linear_model


class EqualTermsTest(parameterized.TestCase):
  def test_variants_differ_in_the_algorithm_only(self):
    fed_avg = digits.get_config('fed_avg').to_dict()
    for variant in ('fed_fish', 'per_example', 'sampled_label', 'damped'):
      config = digits.get_config(variant).to_dict()
      self.assertNotEqual(config.pop('algorithm'), fed_avg['algorithm'])
      self.assertEqual(config | {'algorithm': fed_avg['algorithm']}, fed_avg)

  @parameterized.parameters(c4, stackoverflow)
  def test_a_size_changes_the_task_and_not_the_method(self, module):
    tiny, full = map(module.get_config, ('damped,size=tiny', 'damped'))
    self.assertEqual(tiny.algorithm, full.algorithm)
    self.assertNotEqual(tiny.task, full.task)

  @parameterized.parameters(
    (fed3r_cifar, 100),
    (fed3r_digits, 24),
    (fed3r_generated, 9275),
    (fed3r_photographs, 9275),
    (fed3r_photographs, 1262, ',images=landmarks'),
  )
  def test_all_clients_come_once(self, module, num_clients, axes=''):
    """In the published splits' numbers; a fine-tuning adds its own rounds."""

    def get_config(variant):
      return module.get_config(f'{variant}{axes}')

    fed3r = get_config('fed3r')
    self.assertEqual(fed3r.rounds, -(-num_clients // fed3r.cohort_size))
    for variant in (features.FT, features.FT_LP, features.FT_FEAT):
      config = get_config(variant)
      self.assertEqual(
        config.rounds, fed3r.rounds + get_config(features.LINEAR_PROBE).rounds
      )
      self.assertEqual(config.fine_tuning.start, fed3r.algorithm)

  @parameterized.parameters('fed_avg', 'fed_fish')
  def test_a_linear_probe_is_the_method_itself(self, method):
    config = fed3r_digits.get_config(f'{method},fine_tuning=ft_lp').to_dict()
    del config['fine_tuning']
    self.assertEqual(config, fed3r_digits.get_config(method).to_dict())


class ClassShardsTest(parameterized.TestCase):
  @parameterized.parameters(
    ('hf_maml,images=cifar100', 'exact'),
    ('hf_maml,images=cifar100,size=results', 'hessian_free'),
    ('hf_maml', 'hessian_free'),
  )
  def test_hf_maml_is_exact_for_a_network_with_dropout(self, variant, order):
    config = class_shards.get_config(variant).to_dict()
    config_checks.read(config)
    self.assertEqual(config['algorithm']['order'], order)

  @parameterized.parameters('fed_buff', 'fed_async')
  def test_asynchronous_runs_do_the_work_of_cohorts_of_all_at_work(self, name):
    config = class_shards.get_config(f'{name},participation=asynchronous')
    plain = class_shards.get_config('fed_avg')
    for field in ('rounds', 'evaluate_every', 'checkpoint_every'):
      self.assertEqual(
        config[field] * config.cohort_size,
        plain[field] * config.participation.concurrency,
      )


class ImageFeaturesTest(parameterized.TestCase):
  @parameterized.parameters(*features.VARIANTS)
  def test_only_what_trains_the_extractor_has_inputs_before_it(self, variant):
    for images in ('cifar10', 'cifar100'):
      task = fed3r_cifar.get_config(f'{variant},images={images}').task
      self.assertEqual(task.name, f'{images}_features')
      self.assertEqual(
        task.inputs,
        'fire8/expand'
        if 'fine_tuning=ft,' in variant or 'ft_feat' in variant
        else 'features',
      )

  def test_a_file_of_weights_can_be_named(self):
    """As --config.task.weights=name does."""
    config = fed3r_cifar.get_config('fed3r').lock()
    self.assertIsNone(config.task.weights)
    config.task.weights = 'other.npz'
    with self.assertRaises(TypeError):
      config.task.weights = 3


# Rounding of float64 sums and float32 weights leaves 1e-7 of the largest weight.
_TOLERANCE = 1e-5


class Fed3rDigitsTest(temporary_folders.TestCase):
  def test_runs_are_of_the_same_clients(self):
    tasks = [
      fed3r_digits.get_config(run.variant).task
      for run in fed3r_digits.sweep('methods')
    ]
    self.assertLen(tasks, 7)
    for task in tasks:
      self.assertEqual(task, tasks[0])

  def test_sums_are_exact_enough_to_be_compared(self):
    for variant in features.VARIANTS:
      config = fed3r_digits.get_config(variant).to_dict()
      algorithm = config['algorithm']
      if 'fine_tuning' in config:
        algorithm = config['fine_tuning']['start']
      self.assertEqual(algorithm.get('accumulator', 'float64'), 'float64')

  def test_a_run_equals_ridge_regression_on_all_examples(self):
    config = fed3r_digits.get_config('fed3r').to_dict()
    folder = simulation.Workdir(self.folder)
    small_configs.train(config, folder.path)
    config = config_checks.read(config)
    experiment = experiment_lib.build_experiment(config)
    result = simulation.load_result(
      experiment.process,
      simulation.CheckpointManager(
        folder.checkpoints_path, run_digests=folder.digests
      ),
    )
    *_, kernel, bias = experiment.process.get_model_weights(
      result.state
    ).trainable
    train = experiment.task.train
    images, labels = zip(*map(train.load_client, train.client_ids))
    feature_map = experiment.task.feature_map
    inputs = feature_map(feature_map.initial_weights, np.concatenate(images))
    # The bias is the weight of a constant feature, as in the published code.
    ridge = linear_model.Ridge(
      alpha=config.algorithm.regularization,
      fit_intercept=False,
      solver='cholesky',
    ).fit(
      np.pad(np.float64(inputs), ((0, 0), (0, 1)), constant_values=1.0),
      np.eye(10)[np.concatenate(labels)],
    )
    weights = ridge.coef_.T
    weights /= np.linalg.norm(weights[:-1], axis=0)
    np.testing.assert_allclose(
      np.vstack([kernel, bias]),
      weights,
      rtol=0,
      atol=_TOLERANCE * np.max(np.abs(weights[:-1])),
    )


class FedMaTest(temporary_folders.TestCase):
  @parameterized.product(
    module=(fed_ma_cifar10, fed_ma_digits, fed_ma_shakespeare),
    axes=('', ',size=compact'),
  )
  def test_runs_differ_in_the_method_only(self, module, axes):
    if module is fed_ma_digits:
      variants = [run.variant for run in module.sweep('methods')]
    else:
      runs = module.sweep(f'seeds{axes}')
      self.assertIn(sweeps.Run(f'fed_prox{axes}', {'seed': 2}), runs)
      self.assertLen(runs, 9)
      variants = list(dict.fromkeys(run.variant for run in runs))
    rest = []
    for variant in variants:
      config = module.get_config(variant).to_dict()
      config_checks.read(config)
      algorithm = config.pop('algorithm')
      self.assertEqual(algorithm['name'], variant.partition(',')[0])
      self.assertEqual(algorithm['client_optimizer'], 'sgdm')
      self.assertEqual(algorithm.get('proximal_strength', 1e-3), 1e-3)
      # The mean as it is; FedMA has no step to take at the server.
      self.assertEqual(config.pop('server_learning_rate', 1.0), 1.0)
      rest.append(config)
    self.assertEqual(rest, rest[:1] * len(variants))

  @pytest.mark.thorough
  def test_one_round_of_fed_ma_is_better(self):
    accuracies = []
    for name in ('fed_ma', 'fed_avg'):
      config = fed_ma_digits.get_config(name).to_dict()
      config['rounds'] = 1
      folder = self.folder / name
      small_configs.train(config, folder)
      rows = simulation.read_rows(folder / 'metrics.csv')
      accuracies.append(rows[-1]['eval/global/accuracy'])
    self.assertGreater(accuracies[0], accuracies[1] + 0.2)


class KeyboardConfigTest(temporary_folders.TestCase):
  def test_all_rounds_have_the_paper_s_600_million_sentences(self):
    config = keyboard.get_config()
    self.assertEqual(
      config.rounds * config.cohort_size * config.max_examples_per_client,
      600_000_000,
    )

  def test_central_training_sees_as_many_sentences(self):
    for size in ('', ',size=compact'):
      federated = keyboard.get_config(f'fed_avg{size}')
      central = keyboard.get_config(f'fed_avg,training=central{size}')
      config_checks.read(central.to_dict())
      self.assertTrue(central.task.central)
      self.assertEqual(central.algorithm.server_optimizer, 'sgd')
      self.assertEqual(
        central.rounds * central.cohort_size * central.max_examples_per_client,
        federated.rounds
        * federated.cohort_size
        * federated.max_examples_per_client,
      )

  @pytest.mark.slow
  def test_both_learn_made_up_texts(self):
    for variant in ('fed_avg', 'fed_avg,training=central'):
      config = keyboard.get_config(f'{variant},size=compact').to_dict()
      config['task'] |= {'vocabulary_size': 100, 'num_generated_users': 60}
      config |= {'rounds': 10, 'evaluate_every': 10}
      folder = self.folder / variant
      small_configs.train(config, folder)
      first, last = (
        simulation.read_rows(folder / 'metrics.csv')[row]['eval/global/loss']
        for row in (0, -1)
      )
      # Nats a token: from a guess among all tokens on.
      self.assertAlmostEqual(first, math.log(100), delta=0.1)
      self.assertLess(last, first - 0.3, variant)


_SCORE = 'eval/own_fine_tuned/accuracy'


def _configs():
  """Returns the configs of FedRep, SRPFL and FedAvg, by these names."""
  variants = [run.variant for run in srpfl_digits.sweep('methods')]
  return {
    name: srpfl_digits.get_config(variant).to_dict()
    for name, variant in zip(('fed_rep', 'srpfl', 'fed_avg'), variants)
  }


class SrpflDigitsTest(temporary_folders.TestCase):
  def test_runs_differ_in_the_method_or_participation(self):
    runs = _configs()
    fed_rep, srpfl = runs['fed_rep'], runs['srpfl']
    self.assertEqual(srpfl['participation']['n0'], 8)
    self.assertEqual(
      srpfl['participation']['speeds'], fed_rep['participation']['speeds']
    )
    for run in (fed_rep, srpfl):
      del run['participation']
    self.assertEqual(fed_rep, srpfl)
    self.assertEqual(runs['fed_avg']['algorithm']['name'], 'fed_avg')

  @pytest.mark.thorough
  def test_srpfl_waits_for_fewer(self):
    runs = _configs()
    runs['srpfl']['participation']['rounds_per_stage'] = 2
    rows = {}
    for name, config in runs.items():
      config.update(rounds=4, local_epochs=2, evaluate_every=2)
      config['evaluation']['personalization_epochs'] = 1
      small_configs.train(config, self.folder / name)
      with open(self.folder / name / 'metrics.csv', newline='') as file:
        rows[name] = [r for r in csv.DictReader(file) if r[_SCORE]]
      self.assertEqual([r['round'] for r in rows[name]], ['0', '2', '4'])
      summary = json.loads((self.folder / name / 'summary.json').read_text())
      self.assertEqual(
        summary['best_validation']['metric'], 'eval/new_fine_tuned/accuracy'
      )
      self.assertIn('new_fine_tuned/accuracy', summary['test'])
    # One start, one test set, whatever comes of it; FedAvg tunes the whole
    # model, FedRep the head.
    self.assertEqual(
      rows['srpfl'][0][_SCORE],
      rows['fed_rep'][0][_SCORE],
    )
    self.assertGreater(
      float(rows['fed_avg'][0][_SCORE]),
      float(rows['fed_rep'][0][_SCORE]),
    )
    seconds = {n: float(rows[n][-1]['simulated/seconds']) for n in rows}
    self.assertEqual(seconds['fed_rep'], seconds['fed_avg'])
    self.assertLess(seconds['srpfl'], seconds['fed_rep'] / 2)

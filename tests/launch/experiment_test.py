# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a config becomes."""

from fedfish_tff import client_work
from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.execution import contexts
from launch import config_checks
from launch import experiment
from launch.configs import toy_regression

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff


def _config(variant='fed_fish', **changes):
  config = toy_regression.get_config(variant)
  config.update(changes)
  return config.to_dict()


class BuildExperimentTest(parameterized.TestCase):
  def test_the_names_that_are_checked_are_those_that_exist(self):
    self.assertCountEqual(experiment.OPTIMIZERS, config_checks.OPTIMIZERS)
    self.assertCountEqual(
      [e.value for e in client_work.FisherEstimator],
      config_checks.FISHER_ESTIMATORS,
    )
    self.assertCountEqual(
      [n.value for n in client_work.FisherNormalization],
      config_checks.FISHER_NORMALIZATIONS,
    )

  @parameterized.parameters(
    'fed_avg',
    'fed_sgd',
    'fed_prox',
    'fed_fish',
    'sampled_label',
    'damped',
  )
  def test_builds_every_algorithm(self, variant):
    built = experiment.build_experiment(_config(variant, batch_size=7))
    self.assertEqual(built.task.name, 'toy_regression')
    self.assertEqual(built.batch_spec.batch_size, 7)
    self.assertIsNone(built.batch_spec.max_examples)
    self.assertEqual(built.batch_spec.epochs, 1 if variant == 'fed_sgd' else 50)
    fed_fish = variant not in ('fed_avg', 'fed_sgd', 'fed_prox')
    self.assertEqual(built.process.extra_passes, int(fed_fish))
    self.assertCountEqual(built.participation(1), built.task.train.client_ids)
    self.assertIsNotNone(built.build_barrier())

  def test_builds_mime_lite(self):
    built = experiment.build_experiment(_config('mime_lite'))
    self.assertEqual(built.process.extra_passes, 1)
    self.assertIsNone(built.build_barrier())
    state_type = built.process.initialize.type_signature.result.member
    self.assertIn(
      'accumulator', tff.structure.name_list(state_type.client_work.optimizer)
    )

  def test_the_strength_of_fed_prox_reaches_the_clients(self):
    contexts.set_default_context()
    trained = []
    for strength in (0.0, 1.0):
      config = _config('fed_prox')
      config['algorithm']['proximal_strength'] = strength
      built = experiment.build_experiment(config)
      weights = built.process.get_model_weights(built.process.initialize())
      client = built.task.train.load_client(built.task.train.client_ids[0])
      batches = datasets.plan_batches(
        client, built.batch_spec, client_id='a', seed=0, round_number=1
      )
      end = built.process.local_training(weights, batches.to_dataset())
      trained.append(
        sum(
          np.sum((a - b) ** 2) for a, b in zip(end.trainable, weights.trainable)
        )
      )
    self.assertLess(trained[1], 0.5 * trained[0])

  def test_the_spread_over_clients_is_of_the_task_s_metric(self):
    contexts.set_default_context()
    built = experiment.build_experiment(_config('fed_avg'))
    columns = built.build_held_out_evaluation(built.task.test, spread=True)(
      built.process.get_model_weights(built.process.initialize())
    )
    self.assertContainsSubset(
      ['global/mse_worst_tenth', 'personalized/mse_client_std'], columns
    )
    self.assertNotIn('global/loss_worst_tenth', columns)

  def test_builds_every_optimizer(self):
    for name, build in experiment.OPTIMIZERS.items():
      self.assertAlmostEqual(
        build(0.25).initialize([])['learning_rate'], 0.25, msg=name
      )

  def test_caps_the_examples(self):
    built = experiment.build_experiment(_config(max_examples_per_client=5))
    self.assertEqual(built.batch_spec.max_examples, 5)

  def test_barrier_only_if_asked_for(self):
    built = experiment.build_experiment(
      _config(evaluation={'barrier': False, 'personalization_epochs': 0})
    )
    self.assertIsNone(built.build_barrier())

  @parameterized.parameters(
    ({'rounds': 0}, 'rounds is 0'),
    ({'cohort_size': 5}, 'only 2 training clients'),
    ({'task': {'overlap': 'some'}}, "no overlap 'some'"),
  )
  def test_rejects(self, changes, message):
    with self.assertRaisesRegex(errors.InputError, message):
      experiment.build_experiment(_config(**changes))

  def test_rejects_a_task_without_held_out_clients(self):
    config = _config()
    config['task'] = {'name': 'digits', 'test_fraction': 0.0}
    with self.assertRaisesRegex(errors.InputError, 'no test clients'):
      experiment.build_experiment(config)


if __name__ == '__main__':
  absltest.main()

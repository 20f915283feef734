# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a config becomes."""

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.execution import contexts
from launch.configs import toy_regression
from launch.runs import experiment
from launch.runs import fine_tuning_start
from tests.launch import small_configs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow_federated as tff


def _config(variant='fed_fish', **changes):
  config = toy_regression.get_config(variant)
  config.update(changes)
  return config.to_dict()


class BuildExperimentTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(small_configs.built_once())

  @parameterized.parameters(
    'fed_avg',
    'fed_sgd',
    'fed_prox',
    'fed_fish',
  )
  def test_builds_every_algorithm(self, variant):
    self._check_built(variant)

  @parameterized.parameters('sampled_label', 'damped')
  @pytest.mark.thorough
  def test_builds_every_kind_of_fed_fish(self, variant):
    self._check_built(variant)

  def _check_built(self, variant):
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

  @pytest.mark.thorough
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


class ParticipationTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(small_configs.built_once())
    cls.task = experiment.create_task(small_configs.make_config())

  def _cohorts(self, name, rounds, **changes):
    built = experiment.build_experiment_of(
      small_configs.make_config(
        'fed3r', rounds=rounds, **{'participation.name': name, **changes}
      ),
      self.task,
    )
    return [built.participation(r) for r in range(1, rounds + 1)]

  def test_visit_once(self):
    cohorts = self._cohorts('visit_once', small_configs.VISITING_ROUNDS)
    self.assertEqual([len(cohort) for cohort in cohorts], [3, 3, 2])
    self.assertCountEqual(sum(cohorts, ()), self.task.train.client_ids)
    # A cohort may be as large as it likes.
    (everyone,) = self._cohorts('visit_once', 1, cohort_size=100)
    self.assertCountEqual(everyone, self.task.train.client_ids)

  def test_visit_once_ends_when_all_came(self):
    with self.assertRaisesRegex(
      errors.InputError,
      '^rounds is 4, but participation visit_once has seen all 8 training '
      'clients after 3; at most 3 was expected.$',
    ):
      self._cohorts('visit_once', 4)

  def test_first_visits_are_of_the_cohorts_that_others_see(self):
    uniform = experiment.build_experiment_of(
      small_configs.make_config('fed_avg'), self.task
    ).participation
    seen = set()
    for number, cohort in enumerate(self._cohorts('first_visits', 12), start=1):
      self.assertEqual(
        cohort, tuple(c for c in uniform(number) if c not in seen)
      )
      seen |= set(cohort)
    self.assertCountEqual(seen, self.task.train.client_ids)


class ClosedFormTest(absltest.TestCase):
  def test_a_fine_tuning_is_built_from_what_its_workdir_holds(self):
    config = small_configs.make_config('fed3r_ft_lp')
    workdir = self.create_tempdir().full_path
    for folder in (None, workdir):
      with self.assertRaisesRegex(
        errors.InputError,
        f'^{folder or "A run"} has no start.npz, from which its fine-tuning '
        'starts; train it first with launch.train.$',
      ):
        experiment.build_experiment(config, workdir=folder)
    rng = np.random.default_rng(0)
    weights = tuple(
      rng.normal(size=shape).astype(np.float32)
      for shape in ((64, 8), (8,), (8, 10), (10,))
    )
    fine_tuning_start.save_start(
      workdir,
      fine_tuning_start.Start(
        tff.learning.models.ModelWeights(weights, ()), 3, {}
      ),
    )
    built = experiment.build_experiment(config, workdir=workdir)
    for found, expected in zip(
      built.model.initial_weights[0], weights[2:], strict=True
    ):
      np.testing.assert_array_equal(found, expected)
    self.assertIsNone(built.feature_map)

  def test_rejects_a_task_without_features(self):
    for variant in ('fed3r', 'fed_ncm', 'fed3r_rf', 'fed_avg_lp'):
      config = small_configs.make_config(
        variant, task=_config()['task'], cohort_size=2, rounds=1
      )
      with self.assertRaisesRegex(
        errors.InputError,
        "^Task 'toy_regression' has a model without a feature map, which ",
      ):
        experiment.build_experiment(config)


if __name__ == '__main__':
  absltest.main()

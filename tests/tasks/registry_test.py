# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the registry of tasks."""

import importlib
import inspect

from fedfish_tff import errors
from fedfish_tff import fields
from tasks import registry
from tests import processes
from tests import tolerance
from tests import usable_tasks

from absl.testing import parameterized
import numpy as np

_RANDOM_START = (
  'digits',
  'digits_shards',
  'linear_representation',
  'toy_regression',
)
_EMBEDDED = (*_RANDOM_START, 'generated_features')


class RegistryTest(parameterized.TestCase):
  def test_every_task_has_a_name_and_options(self):
    names = registry.task_names()
    self.assertContainsSubset((*_EMBEDDED, 'emnist', 'ag_news'), names)
    self.assertNoCommonElements(
      names, ('class_labels', 'language', 'registry', 'task', 'tff_files')
    )
    for name in names:
      options = registry.own_options(name)
      registry.check_options(name, {}, options)
      signature = inspect.signature(registry._find_own(name)).parameters
      self.assertCountEqual(
        options,
        signature.keys() - {'seed', 'data_dir', 'trust_saved_models'},
        name,
      )
      for option, field in options.items():
        if field.default is None:
          self.assertIsInstance(field.check, fields.Optional, option)
        self.assertEndsWith(field.help, '.', option)

  def test_every_option_refuses_a_value_of_another_type(self):
    for name in registry.task_names():
      for option in registry.own_options(name):
        with self.assertRaisesRegex(
          errors.InputError, f'^task.{option} must be .*, got <object object'
        ):
          registry.create_task(name, seed=0, **{option: object()})

  def test_options_are_known_without_tensorflow(self):
    result = processes.run_program(
      'import sys\n'
      'from tasks import registry\n'
      'for name in registry.task_names():\n'
      '  assert registry.own_options(name), name\n'
      'print({"tensorflow", "tensorflow_federated"} & set(sys.modules))\n'
    )
    self.assertEqual(result.stdout, 'set()\n', result.stderr)

  def test_tasks_that_share_a_module_are_found(self):
    shared = {
      name
      for module_name in registry._modules().values()
      for name in getattr(importlib.import_module(module_name), 'TASKS', ())
    }
    self.assertCountEqual(shared, registry._SHARED)

  @parameterized.parameters(*_EMBEDDED)
  def test_every_embedded_task_is_usable(self, name):
    task = registry.create_task(name, seed=1)
    self.assertEqual(task.name, name)
    usable_tasks.check(task)

  @parameterized.parameters('digits', 'generated_features')
  def test_sources_give_the_same_clients(self, name):
    task = registry.create_task(name, seed=2)
    registry.set_sources(task, name=name, seed=2)
    for data in (task.train, task.validation, task.test):
      there = data.source.load()
      self.assertIsNot(there, data)
      client_id = data.client_ids[-1]
      tolerance.assert_same(
        there.load_client(client_id), data.load_client(client_id)
      )

  @parameterized.parameters(*_RANDOM_START)
  def test_a_task_is_a_function_of_the_seed(self, name):
    first, again, other = (
      registry.create_task(name, seed=seed) for seed in (0, 0, 1)
    )

    def state(task):
      x, _ = task.train.load_client(task.train.client_ids[0])
      return x, task.create_model().initial_weights[0][0]

    for a, b, c in zip(state(first), state(again), state(other)):
      np.testing.assert_array_equal(a, b)
      self.assertFalse(np.array_equal(a, c))

  @parameterized.parameters(
    ('toy_regression', {}),
    ('linear_representation', {}),
    ('generated_features', {'num_clients': 4}),
    ('c4', {'size': 'tiny', 'num_generated_domains': 8}),
    ('keyboard', {'units': 4, 'num_generated_users': 8}),
    ('ag_news', {'num_generated': 200, 'client_fraction': 0.1}),
    ('digits', None),
  )
  def test_tasks_say_what_is_synthetic(self, name, options):
    task = registry.create_task(name, seed=0, **(options or {}))
    if options is None:
      self.assertEqual((task.synthetic, task.title), (None, name))
    else:
      self.assertStartsWith(task.synthetic, 'generated ')
      self.assertEqual(task.title, f'{task.synthetic}, task {name}')

  def test_unknown_task(self):
    for function in (
      registry.task_options,
      lambda name: registry.create_task(name, seed=0),
    ):
      with self.assertRaisesRegex(
        errors.InputError,
        'task.name must be one of ag_news, .* Did you mean digits',
      ):
        function('digit')

  def test_a_foreign_task_without_a_declaration(self):
    name = 'examples.cellars:create_task'
    self.assertEqual(registry.task_options(name)['hidden_units'].default, 16)
    task = registry.create_task(name, seed=0, hidden_units=4)
    self.assertNotEmpty(task.train.client_ids)
    with self.assertRaisesRegex(
      errors.InputError, 'task.beta does not exist for task examples.cellars'
    ):
      registry.create_task(name, seed=0, beta=2.0)

  def test_a_foreign_task_with_a_declaration(self):
    name = 'tasks.images.digits:create_task'
    self.assertIn('alpha', registry.task_options(name))
    task = registry.create_task(name, seed=0, num_clients=12)
    self.assertNotEmpty(task.train.client_ids)
    for wrong in ('tasks.images.digits:_NUMBER', 'tasks.nowhere:create_task'):
      with self.assertRaisesRegex(errors.InputError, 'cannot be imported'):
        registry.task_options(wrong)

  def test_unknown_option(self):
    with self.assertRaisesRegex(
      errors.InputError,
      'task.test_fracton does not exist; .* Did you mean test_fraction',
    ):
      registry.create_task('digits', seed=0, test_fracton=0.1)

  def test_transfer_to_another_language_task(self):
    options = dict(size='tiny', sequence_length=8, num_generated_domains=12)
    source = registry.create_task(
      'c4', seed=0, eval_sequence_length=6, **options
    )
    target = registry.create_transfer_task(source, 'cc_news', seed=0)
    self.assertEqual(target.transfer_options, source.transfer_options)
    clients = target.test.client_ids
    self.assertNoCommonElements(clients, source.train.client_ids)
    x, _ = target.test.load_client(clients[0])
    self.assertEqual(x.shape[1], 6)
    with self.assertRaisesRegex(
      errors.InputError,
      "'c4'.*applied to task 'digits'.*option vocabulary",
    ):
      registry.create_transfer_task(source, 'digits', seed=0)
    with self.assertRaisesRegex(
      errors.InputError, "task.name must be .* got 'digit'"
    ):
      registry.create_transfer_task(source, 'digit', seed=0)

  def test_other_tasks_do_not_transfer(self):
    source = registry.create_task('digits', seed=0)
    with self.assertRaisesRegex(
      errors.InputError, "'digits' cannot be applied to task 'c4': only"
    ):
      registry.create_transfer_task(source, 'c4', seed=0)

  def test_options(self):
    options = registry.task_options('toy_regression')
    self.assertEqual(options['overlap'].default, 'partial')
    self.assertNoCommonElements(options, ['seed', 'data_dir'])
    task = registry.create_task('toy_regression', seed=0, num_examples=7)
    self.assertLen(task.train.load_client('client_0')[1], 7)

  @parameterized.parameters(*_EMBEDDED)
  def test_embedded_tasks_take_no_data_dir(self, name):
    with self.assertRaisesRegex(errors.InputError, "reads no files, .*'/d'"):
      registry.create_task(name, seed=0, data_dir='/d')

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a config becomes, and of what a fine-tuning starts from."""

import json
import pathlib
import tempfile

from fedfish_tff import errors
from fedfish_tff.execution import contexts
from launch.configs import toy_regression
from launch.methods import config_checks
from launch.runs import experiment
from launch.runs import run_start
from tests import temporary_folders
from tests.launch import small_configs

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import tensorflow_federated as tff

_TOTALS = {'wire_bytes': 2**40, 'local_steps': 7, 'round_seconds': 0.1}


def _make_start():
  rng = np.random.default_rng(0)
  return run_start.Start(
    tff.learning.models.ModelWeights(
      tuple(
        rng.normal(size=shape).astype(np.float32)
        for shape in ((3, 2), (2,), (), (0, 4))
      ),
      (),
    ),
    3,
    _TOTALS,
  )


class FileTest(temporary_folders.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = cls.enterClassContext(tempfile.TemporaryDirectory())
    cls.start = _make_start()
    run_start.save_start(folder, cls.start)
    cls.content = (pathlib.Path(folder) / run_start.FILE_NAME).read_bytes()

  def setUp(self):
    super().setUp()
    self.path = self.folder / run_start.FILE_NAME

  def _assert_equal(self, found):
    self.assertEqual(found.round_number, self.start.round_number)
    self.assertEqual(found.totals, self.start.totals)
    for one, other in zip(
      found.weights.trainable, self.start.weights.trainable, strict=True
    ):
      self.assertEqual(one.dtype, other.dtype)
      np.testing.assert_array_equal(one, other)

  def _assert_damaged(self):
    with self.assertRaises(errors.InputError) as raised:
      run_start.load_start(self.folder)
    message = str(raised.exception)
    self.assertStartsWith(message, f'{self.path} is damaged (')
    self.assertEndsWith(
      message, '; restore it, or start afresh with --overwrite.'
    )
    self.assertNotIn('\n', message)

  def test_is_read_as_it_was_written(self):
    self.path.write_bytes(self.content)
    self._assert_equal(run_start.load_start(self.folder))
    self.assertEqual([p.name for p in self.folder.iterdir()], ['start.npz'])

  def test_a_workdir_without_one(self):
    self.assertIsNone(run_start.load_start(self.folder))
    self.assertIsNone(run_start.load_start(self.folder / 'nothing'))

  @given(st.data())
  def test_a_file_that_was_cut(self, data):
    length = data.draw(st.integers(0, len(self.content) - 1))
    self.path.write_bytes(self.content[:length])
    self._assert_damaged()

  @given(st.data())
  def test_a_byte_that_has_changed(self, data):
    """It is noticed, unless nothing depends on it."""
    place = data.draw(st.integers(0, len(self.content) - 1))
    content = bytearray(self.content)
    content[place] ^= data.draw(st.integers(1, 255))
    self.path.write_bytes(content)
    try:
      found = run_start.load_start(self.folder)
    except errors.InputError:
      self._assert_damaged()
    else:
      self._assert_equal(found)

  def test_files_of_something_else(self):
    for content in (b'text', b'PK', np.float32(1).tobytes(), b'[]'):
      self.path.write_bytes(content)
      self._assert_damaged()
    with open(self.path, 'wb') as file:
      np.save(file, np.zeros(3))
    self._assert_damaged()
    for arrays in (
      {'other': np.zeros(3)},
      {'state': np.array('not JSON')},
      {'state': np.array('[]')},
      {'state': np.array('{}')},
      {
        'state': np.array(
          json.dumps({'round': 3, 'totals': {}, 'num_weights': 1})
        ),
        'w': 1,
      },
    ):
      with open(self.path, 'wb') as file:
        np.savez(file, **arrays)
      self._assert_damaged()

  def test_a_place_that_is_taken(self):
    self.path.mkdir()
    with self.assertRaisesRegex(
      errors.InputError, f'^Cannot read {self.path}: Is a directory.$'
    ):
      run_start.load_start(self.folder)
    with self.assertRaisesRegex(errors.InputError, f'Cannot write {self.path}'):
      run_start.save_start(self.folder, self.start)


def _config(variant='fed_fish', **changes):
  config = toy_regression.get_config(variant)
  config.update(changes)
  return config.to_dict()


class DescribeRunTest(absltest.TestCase):
  def test_notes_of_a_run(self):
    config = config_checks.read(_config('fed_avg'))
    task = experiment.create_task(config)
    described = experiment.describe_run(config, task)
    self.assertEqual(described['title'], 'FedAvg')
    self.assertEqual(described['judged_by'], 'global')
    self.assertEqual(described['metric'], 'mse')
    self.assertFalse(described['higher_is_better'])
    self.assertEqual(
      described['clients'], {'train': 2, 'validation': 1, 'test': 1}
    )


class BuildExperimentTest(small_configs.TestCase):
  @parameterized.parameters('fed_avg', 'fed_sgd', 'fed_fish')
  def test_builds_what_the_config_says(self, variant):
    built = experiment.build_experiment(
      config_checks.read(_config(variant, batch_size=7))
    )
    self.assertEqual(built.task.name, 'toy_regression')
    self.assertEqual(built.batch_spec.batch_size, 7)
    self.assertIsNone(built.batch_spec.max_examples)
    self.assertEqual(built.batch_spec.epochs, 1 if variant == 'fed_sgd' else 50)
    self.assertEqual(built.process.extra_passes, int(variant == 'fed_fish'))
    self.assertCountEqual(built.participation(1), built.task.train.client_ids)
    self.assertEqual(built.build_barrier() is None, variant == 'fed_sgd')

  def test_the_spread_over_clients_is_of_the_task_s_metric(self):
    contexts.set_default_context()
    built = experiment.build_experiment(config_checks.read(_config('fed_avg')))
    columns = built.build_held_out_evaluation(built.task.test, spread=True)(
      built.process.get_model_weights(built.process.initialize())
    )
    self.assertContainsSubset(
      ['global/mse_worst_tenth', 'personalized/mse_client_std'], columns
    )
    self.assertNotIn('global/loss_worst_tenth', columns)

  def test_a_cap_and_no_barrier(self):
    config = _config(max_examples_per_client=5, evaluation={'barrier': False})
    built = experiment.build_experiment(config_checks.read(config))
    self.assertEqual(built.batch_spec.max_examples, 5)
    self.assertIsNone(built.build_barrier())

  @parameterized.parameters(
    ({'cohort_size': 5}, 'only 2 training clients'),
    ({'task': {'overlap': 'some'}}, "overlap .*'some'"),
  )
  def test_rejects(self, changes, message):
    with self.assertRaisesRegex(errors.InputError, message):
      experiment.build_experiment(config_checks.read(_config(**changes)))

  def test_rejects_a_task_without_held_out_clients(self):
    config = _config()
    config['task'] = {'name': 'digits', 'test_fraction': 0.0}
    with self.assertRaisesRegex(errors.InputError, 'test clients'):
      experiment.build_experiment(config_checks.read(config))


class ClosedFormTest(absltest.TestCase):
  def test_a_fine_tuning_is_built_from_what_its_workdir_holds(self):
    config = small_configs.make_config('fed_avg,fine_tuning=ft_lp,start=fed3r')
    workdir = self.create_tempdir().full_path
    for folder in (None, workdir):
      with self.assertRaisesRegex(
        errors.InputError,
        f'^{folder or "A run"} has no start.npz, from which it '
        'starts; train it first with launch.train.$',
      ):
        experiment.build_experiment(config_checks.read(config), workdir=folder)
    rng = np.random.default_rng(0)
    weights = tuple(
      rng.normal(size=shape).astype(np.float32)
      for shape in ((64, 8), (8,), (8, 10), (10,))
    )
    run_start.save_start(
      workdir,
      run_start.Start(tff.learning.models.ModelWeights(weights, ()), 3, {}),
    )
    built = experiment.build_experiment(
      config_checks.read(config), workdir=workdir
    )
    for found, expected in zip(
      built.model.initial_weights[0], weights[2:], strict=True
    ):
      np.testing.assert_array_equal(found, expected)

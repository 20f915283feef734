# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A model that begins with given weights."""

import os
import pathlib
import shutil
import tempfile
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import locks
from fedfish_tff.simulation import files
from launch.methods import building
from launch.runs import experiment as experiment_lib
from launch.runs import trained_run
from tests.launch import run_files
from tests.launch import small_configs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow_federated as tff


def _scores(row):
  return {n: v for n, v in row.items() if n.startswith('eval/global/')}


class WarmStartTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.config = small_configs.read_config('fed_avg,warm_start=model')
    self.task = experiment_lib.create_task(self.config)

  def test_the_model_has_the_weights(self):
    initial = self.task.create_model().initial_weights[0]
    weights = tuple(np.asarray(w) + 1 for w in initial)
    model = building.prepare(
      self.config,
      self.task,
      start_weights=tff.learning.models.ModelWeights(weights, ()),
    ).model
    for found, expected in zip(model.initial_weights[0], weights, strict=True):
      np.testing.assert_array_equal(found, expected)

  def test_without_weights_nothing_is_built(self):
    with self.assertRaisesRegex(errors.InputError, 'only launch.train reads'):
      building.prepare(self.config, self.task)

  def test_runs_share_nothing(self):
    self.assertIsNone(self.config.sharing_key)


class RunTest(small_configs.TestCase):
  """One run begins with another's weights; the tests compare others with it."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
    cls.other, cls.begun = folder / 'other', folder / 'begun'
    small_configs.train(small_configs.make_config('fed_avg'), cls.other)
    # As while it is trained.
    with locks.hold(cls.other / files.LOCK_NAME, in_use='It is in use.'):
      cls.before = cls._state_of_other()
      small_configs.train(cls._config(cls.other), cls.begun)
      cls.after = cls._state_of_other()

  @classmethod
  def _state_of_other(cls):
    return {
      p: (p.stat().st_mtime_ns, p.is_file() and p.read_bytes())
      for p in (cls.other, *cls.other.rglob('*'))
    }

  @classmethod
  def _config(cls, path, variant='fed_prox', **changes):
    return small_configs.make_config(
      f'{variant},warm_start=model', **{'warm_start.path': str(path), **changes}
    )

  def _check_first_row(self, workdir):
    first, *_, last = run_files.read_rows(workdir)
    self.assertEqual(
      _scores(first), _scores(run_files.read_rows(self.other)[-1])
    )
    self.assertNotEqual(_scores(last), _scores(first))
    self.assertEqual(first['round'], 0)
    self.assertEqual(first['communication/wire_bytes_total'], 0)

  def test_the_first_row_is_the_last_of_the_other_run(self):
    self._check_first_row(self.begun)

  @pytest.mark.thorough
  def test_clients_that_keep_layers_begin_with_them(self):
    small_configs.train(self._config(self.other, 'fed_rep'), self.workdir)
    self._check_first_row(self.workdir)

  def test_the_other_run_is_only_read(self):
    self.assertEqual(self.after, self.before)

  def _check_same_run(self, source):
    small_configs.train(self._config(source), self.workdir)
    self.assertEqual(
      run_files.read_rows(self.workdir), run_files.read_rows(self.begun)
    )

  @pytest.mark.thorough
  def test_a_file_of_the_same_weights_is_the_same_run(self):
    with trained_run.open_run(self.other) as (experiment, folder):
      result = trained_run.load_result(experiment, folder)
      weights = experiment.process.get_model_weights(result.state).trainable
    names = experiment.task.tensor_names
    np.savez(
      self.folder / 'w.npz',
      **dict(zip(names, map(np.asarray, weights), strict=True)),
    )
    self.enter_context(mock.patch.dict(os.environ, HOME=str(self.folder)))
    self._check_same_run('~/w.npz')

  def test_only_the_weights_of_the_other_run_are_read(self):
    others = self.folder / 'weights'
    shutil.copytree(self.other, others)
    shutil.rmtree(others / 'checkpoints')
    self._check_same_run(others)

  @parameterized.parameters(
    ('summary.json', None, 'without summary.json; launch.train finishes'),
    ('model.safetensors', None, 'without model.safetensors; launch.train'),
    ('model.safetensors', -1, 'is not what it was when the run ended'),
  )
  def test_weights_of_no_finished_run(self, name, flipped, message):
    others = self.folder / 'weights'
    shutil.copytree(self.other, others)
    file = others / name
    content = bytearray(file.read_bytes())
    file.unlink()
    if flipped is not None:
      content[flipped] ^= 1
      file.write_bytes(content)
    with self.assertRaisesRegex(errors.InputError, message):
      small_configs.train(self._config(others), self.workdir)
    self.assertFalse(self.workdir.exists())
    if flipped is not None:
      # The finished run is scored again, and writes it again.
      small_configs.train(small_configs.make_config('fed_avg'), others)
      self.assertEqual(file.read_bytes(), (self.other / name).read_bytes())

  @pytest.mark.thorough
  def test_a_stop_and_more_rounds_without_the_other_run(self):
    """The weights are in the workdir, so that of the other is needed once."""
    source, whole = self.folder / 'source', self.folder / 'whole'
    shutil.copytree(self.other, source)
    config = self._config(source, rounds=6)
    small_configs.train(config, whole)
    small_configs.train({**config, 'rounds': 2}, self.workdir)
    shutil.rmtree(source)
    small_configs.train_with_a_stop(config, workdir=self.workdir, after=5)
    self.assertEqual(
      run_files.read_all(self.workdir), run_files.read_all(whole)
    )
    with trained_run.open_run(self.workdir) as (experiment, folder):
      self.assertEqual(
        trained_run.load_result(experiment, folder).round_number, 6
      )
    # Another config is named before its weights are looked for.
    with self.assertRaisesRegex(errors.InputError, 'differs in seed'):
      small_configs.train({**config, 'seed': 1}, self.workdir)
    with self.assertRaisesRegex(errors.InputError, 'must begin with the workd'):
      small_configs.train(config, self.workdir, overwrite=True)

  @parameterized.parameters(
    ({'task.hidden_units': (4,)}, r"a tensor 'hidden_0/kernel' of shape"),
    (
      {'warm_start.path': ''},
      r"in .npz, .safetensors, .h5 or .keras, got ''\.",
    ),
    ({'warm_start.path': '/tmp'}, 'must be the workdir of a finished run'),
  )
  def test_nothing_is_written_of_what_cannot_begin(self, changes, message):
    with self.assertRaisesRegex(errors.InputError, message):
      small_configs.train(self._config(self.other, **changes), self.workdir)
    self.assertFalse(self.workdir.exists())

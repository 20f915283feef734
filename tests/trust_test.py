# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is run of a stranger's config, and how plug-ins are found."""

import importlib.metadata
import os
import pathlib
import sys
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import plug_ins
from fedfish_tff import trust
from fedfish_tff.models import frozen_graph

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf


class TrustTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    self._written = self._folder / 'written'

  def test_a_saved_model_is_not_run(self):
    """Its graph writes a file when it is called, which it is for features."""
    written = str(self._written)

    class Writes(tf.Module):
      @tf.function(
        input_signature=[tf.TensorSpec([None, None, None, 3], tf.float32)]
      )
      def __call__(self, images):
        tf.io.write_file(written, 'x')
        return {'features': tf.reduce_mean(images, axis=[1, 2])}

    model = Writes()
    path = self._folder / 'saved_model'
    tf.saved_model.save(
      model, str(path), signatures={'serving_default': model.__call__}
    )
    with self.assertRaisesRegex(errors.InputError, '--trust_saved_models'):
      frozen_graph.load_extractor(path)
    self.assertFalse(self._written.exists())
    extractor = frozen_graph.load_extractor(path, trusted=True)
    self.assertEqual(extractor.num_features, 3)

  @parameterized.parameters('model.h5', 'model.hdf5', 'model.keras', 'MODEL.H5')
  def test_code_in_keras_files_is_not_run(self, name):
    written = str(self._written)
    shout = tf.keras.layers.Lambda(
      lambda x: (open(written, 'w').close(), 2 * x)[1]
    )
    path = self._folder / name
    tf.keras.Sequential([tf.keras.Input([3]), shout]).save(
      path, save_format='keras' if path.suffix == '.keras' else 'h5'
    )
    self._written.unlink()
    with self.assertRaisesRegex(
      errors.InputError, f'^{path} is a saved model.*--trust_saved_models'
    ):
      frozen_graph.load_extractor(path)
    self.assertFalse(self._written.exists())
    if path.suffix == '.keras':
      with self.assertRaisesRegex(errors.InputError, 'cannot be read.*lambda'):
        frozen_graph.load_extractor(path, trusted=True)
      self.assertFalse(self._written.exists())
    else:
      frozen_graph.load_extractor(path, trusted=True)
      self.assertTrue(self._written.exists())

  def test_no_byte_of_keras_files_is_read(self):
    """As HDF5's library waits for ever for the end of some damaged files."""
    path = self._folder / 'model.h5'
    path.touch()
    with mock.patch.object(
      tf.keras.models, 'load_model', autospec=True
    ) as load_model:
      with self.assertRaisesRegex(errors.InputError, '--trust_saved_models'):
        frozen_graph.load_extractor(path)
    load_model.assert_not_called()

  def test_a_module_is_not_imported(self):
    module = self._folder / 'of_a_stranger.py'
    module.write_text(
      f'import pathlib\npathlib.Path({str(self._written)!r}).touch()\n'
      'def create_task(): pass\n'
    )
    self.enter_context(
      mock.patch.object(sys, 'path', [str(self._folder), *sys.path])
    )

    def load(trusted):
      return plug_ins.load(
        'of_a_stranger:create_task',
        field='task.name',
        trust=trusted,
        group='the.group',
        known=list,
        is_one=callable,
        expected='a function',
      )

    for trusted in (trust.NONE, trust.Trust(saved_models=True, is_json=True)):
      with self.assertRaisesRegex(
        errors.InputError, '^task.name .*trust_modul'
      ):
        load(trusted)
    self.assertFalse(self._written.exists())
    load(trust.Trust(json_modules=True, is_json=True))
    self.assertTrue(self._written.exists())


def _load(name, group='the.group'):
  return plug_ins.load(
    name,
    field='the.field',
    trust=trust.PYTHON,
    group=group,
    known=lambda: ['ours'],
    is_one=callable,
    expected='a function',
  )


class PlugInsTest(absltest.TestCase):
  def test_by_where_it_is(self):
    self.assertEqual(_load('math:floor')(1.5), 1)

  def test_an_installed_package_announces_some(self):
    point = importlib.metadata.EntryPoint('theirs', 'math:floor', 'the.group')
    with mock.patch.object(
      importlib.metadata, 'entry_points', autospec=True, return_value=[point]
    ) as entry_points:
      self.assertEqual(_load('theirs')(1.5), 1)
      with self.assertRaisesRegex(errors.InputError, 'one of ours, theirs,'):
        _load('others')
    entry_points.assert_called_with(group='the.group')

  def test_without_a_group_only_by_where_it_is(self):
    self.assertEqual(_load('math:floor', None)(1.5), 1)
    with self.assertRaisesRegex(
      errors.InputError, "the.field must be package.module:NAME, got 'ours'"
    ):
      _load('ours', None)

  def test_refuses_what_it_is_not(self):
    file = self.create_tempfile('not_python.py', 'x = (').full_path
    self.enter_context(
      mock.patch.object(sys, 'path', [os.path.dirname(file), *sys.path])
    )
    for name, message in (
      (
        'nowhere_at_all:NAME',
        "the.field is .*No module named 'nowhere_at_all'",
      ),
      ('math:nothing', "no attribute 'nothing'"),
      ('math:', "the.field must be package.module:NAME, got 'math:'"),
      ('.math:pi', "be package.module:NAME, got '.math:pi'"),
      ('a b:NAME', "be package.module:NAME, got 'a b:NAME'"),
      ('a:b:NAME', "be package.module:NAME, got 'a:b:NAME'"),
      ('not_python:NAME', 'imported: SyntaxError: .*not_python.py, line 1'),
      ('math:pi', 'a function, got .*a float'),
      (None, 'the.field must be one of ours, .* got None'),
      (['ours'], r"the.field must be one of ours, .* got \['ours'\]"),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        _load(name)

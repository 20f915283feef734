# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is run of a config that is a stranger's."""

import pathlib
import sys

from fedfish_tff import errors
from fedfish_tff import plug_ins
from fedfish_tff import trust
from fedfish_tff.models import frozen_graph

from absl.testing import absltest
import tensorflow as tf


class TrustTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.addCleanup(trust.trust)
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
    trust.trust(saved_models=True)
    extractor = frozen_graph.load_extractor(path)
    self.assertEqual(extractor.num_features, 3)

  def test_a_module_is_not_imported(self):
    module = self._folder / 'of_a_stranger.py'
    module.write_text(
      f'import pathlib\npathlib.Path({str(self._written)!r}).touch()\n'
      'def create_task(): pass\n'
    )
    self.enter_context(
      absltest.mock.patch.object(sys, 'path', [str(self._folder), *sys.path])
    )

    def load():
      return plug_ins.load(
        'of_a_stranger:create_task',
        field='task.name',
        group='the.group',
        known=list,
        is_one=callable,
        expected='a function',
      )

    trust.trust(modules=False)
    with self.assertRaisesRegex(errors.InputError, '^task.name .*trust_modul'):
      load()
    self.assertFalse(self._written.exists())
    trust.trust(modules=True)
    load()
    self.assertTrue(self._written.exists())

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is not run from files of Keras; more in frozen_graph_test."""

import json
import pathlib
import shutil
import zipfile

from fedfish_tff import errors
from fedfish_tff.models import frozen_graph
from fedfish_tff.models import keras_files
from tests import tolerance

from absl.testing import parameterized
import h5py
import numpy as np
import tensorflow as tf

_FEATURES = np.random.default_rng(0).random([4, 3], np.float32)


def _write_config(path, change):
  """Replaces the text of a model's config."""
  if path.suffix == '.keras':
    with zipfile.ZipFile(path) as archive:
      files = {name: archive.read(name) for name in archive.namelist()}
    files['config.json'] = change(files['config.json'].decode()).encode()
    with zipfile.ZipFile(path, 'w') as archive:
      for name, content in files.items():
        archive.writestr(name, content)
  else:
    with h5py.File(path, 'r+') as file:
      file.attrs['model_config'] = change(file.attrs['model_config'])


def _compact(config):
  return json.dumps(json.loads(config), separators=(',', ':'))


def _escaped(config):
  return config.replace('"Lambda"', '"\\u004cambda"')


def _renamed(config):
  return config.replace('"Lambda"', '"pkg>Lambda"')


class KerasFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    self._marker = self._folder / 'marker'

  def _code_layer(self):
    marker = str(self._marker)
    return tf.keras.layers.Lambda(
      lambda x: (open(marker, 'w').close(), 2 * x)[1], name='shout'
    )

  def _save(self, layers, name):
    """Saves a model, after which nothing has run."""
    path = self._folder / name
    tf.keras.Sequential([tf.keras.Input([3]), *layers]).save(path)
    self._marker.unlink(missing_ok=True)
    return path

  def _assert_refused(self, path, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      frozen_graph.load_extractor(path)
    self.assertFalse(self._marker.exists())

  def test_this_layer_would_run(self):
    """What the others rely on."""
    path = self._save([self._code_layer()], 'model.h5')
    tf.keras.models.load_model(path)(_FEATURES)
    self.assertTrue(self._marker.exists())

  @parameterized.product(
    name=('model.h5', 'model.hdf5', 'model.keras'),
    change=(str, _compact, _escaped, _renamed),
  )
  def test_code(self, name, change):
    path = self._save([self._code_layer()], name)
    _write_config(path, change)
    self._assert_refused(path, r"class '(pkg>)?Lambda' in layer 'shout', which")

  @parameterized.parameters('model.keras', 'model.KERAS')
  def test_code_in_hdf5_under_another_name(self, name):
    path = self._save([self._code_layer()], 'model.h5')
    path = path.rename(self._folder / name)
    self._assert_refused(path, "class 'Lambda' in layer 'shout', which")

  def test_code_in_a_folder_under_another_name(self):
    path = self._save([self._code_layer()], 'model')
    shutil.move(path, self._folder / 'model.keras')
    self._assert_refused(
      self._folder / 'model.keras', 'model.keras is a folder; a file that'
    )

  @parameterized.parameters('model.h5', 'model.keras')
  def test_code_in_nested_models_and_wrappers(self, name):
    inner = tf.keras.Sequential([tf.keras.Input([3]), self._code_layer()])
    wrapped = tf.keras.layers.TimeDistributed(self._code_layer())
    for layers in (
      [inner],
      [tf.keras.Sequential([tf.keras.Input([3]), inner])],
      [tf.keras.layers.Reshape([1, 3]), wrapped, tf.keras.layers.Flatten()],
    ):
      path = self._save(layers, name)
      self._assert_refused(path, "class 'Lambda' in layer 'shout', which")

  @parameterized.parameters(
    # What Keras imports by name.
    (
      dict(module='os', class_name='function', config='system'),
      "'function' of the module 'os' in layer 'dense'",
    ),
    (
      dict(module='builtins', class_name='function', config='eval'),
      "the function 'eval' in layer 'dense'",
    ),
    (
      dict(module='subprocess', class_name='Popen', config={'args': ['ls']}),
      "'Popen' of the module 'subprocess'",
    ),
    (
      dict(module=['os'], class_name='function', config='system'),
      r"the module \['os'\]",
    ),
    (
      dict(
        module='keras.layers',
        class_name='Dense',
        config={},
        registered_name='pkg>Lambda',
      ),
      "class 'pkg>Lambda'",
    ),
    (dict(class_name='__lambda__', config={'value': 'x'}), '__lambda__'),
    (dict(class_name=['Dense'], config={}), r"class \['Dense'\]"),
    (dict(class_name='StringLookup', config={}), "class 'StringLookup'"),
    (
      dict(class_name='TensorFlowOpLayer', config={'name': 'write'}),
      "class 'TensorFlowOpLayer' in layer 'write'",
    ),
    *(
      (
        dict(class_name='TFOpLambda', config={'function': function}),
        f"the function '{function}'",
      )
      for function in (
        'io.write_file',
        'io.gfile.rmtree',
        'compat.v1.py_func',
        'numpy_function',
        'raw_ops.WriteFile',
        'keras.utils.get_file',
      )
    ),
    (dict(class_name='TFOpLambda', config='io'), 'the function None'),
  )
  def test_what_configs_could_name(self, item, regex):
    for name in ('model.h5', 'model.keras'):
      path = self._save([tf.keras.layers.Dense(2, name='dense')], name)

      def put(config):
        config = json.loads(config)
        config['config']['layers'][-1]['config']['activation'] = item
        return json.dumps(config)

      _write_config(path, put)
      self._assert_refused(path, regex)

  def test_pickles_in_archives(self):
    path = self._save([tf.keras.layers.Dense(2)], 'model.keras')
    with zipfile.ZipFile(path) as archive:
      files = {name: archive.read(name) for name in archive.namelist()}
    del files['model.weights.h5']
    with zipfile.ZipFile(path, 'w') as archive:
      for name, content in (files | {'model.weights.npz': b''}).items():
        archive.writestr(name, content)
    self._assert_refused(
      path, r'differs by model.weights.h5, model.weights.npz; config.json, met'
    )

  def test_a_heap_that_hdf5_would_read_for_ever(self):
    path = self._save([tf.keras.layers.Dense(2)], 'model.h5')
    # As of a download that broke off in the middle of the texts.
    content = bytearray(path.read_bytes())
    start = content.index(b'GCOL')
    end = content.rindex(b'"class_name"', start, start + 4096)
    content[end + 200 : start + 4096] = bytes(start + 4096 - end - 200)
    path.write_bytes(content)
    self._assert_refused(path, 'its heap at byte .* has no end')

  def test_formats_by_content(self):
    path = self._save([tf.keras.layers.Dense(2)], 'model.keras')
    renamed = self._folder / 'archive.h5'
    shutil.copy(path, renamed)
    self._assert_refused(renamed, 'is an archive; a name ending in .keras')
    text = self._folder / 'text.keras'
    text.write_text('text')
    self._assert_refused(text, 'neither HDF5 nor an archive')
    self._assert_refused(self._folder / 'none.h5', 'none.h5 is not there')
    deep = self._save([tf.keras.layers.Dense(2)], 'deep.h5')
    _write_config(deep, lambda _: '[' * 20000 + ']' * 20000)
    self._assert_refused(deep, 'deep.h5 cannot be read .*recursion')

  @parameterized.parameters(
    'model.h5', 'model.keras', 'hdf5_under_another_name.keras'
  )
  def test_layers_without_code(self, name):
    layers = tf.keras.layers
    source = tf.keras.Input([8, 8, 3])
    y = layers.Rescaling(1 / 255)(source)
    y = layers.Conv2D(4, 3, activation='gelu', kernel_regularizer='l2')(y)
    y = layers.SeparableConv2D(4, 3, kernel_constraint='non_neg')(y)
    y = tf.nn.relu(tf.transpose(y[:, 1:3], [0, 2, 1, 3]) * 2.0 + 1.0)
    y = tf.squeeze(tf.reduce_mean(y, axis=[1], keepdims=True), 1)
    y = layers.Bidirectional(layers.GRU(3, kernel_initializer='zeros'))(y)
    inner = tf.keras.Sequential([tf.keras.Input([6]), layers.Dense(5)])
    inner.compile('adam', 'mse')
    y = tf.concat([inner(y), -y], -1)
    y = layers.Dense(2, dtype=tf.keras.mixed_precision.Policy('float32'))(y)
    model = tf.keras.Model(source, y)
    model.compile(tf.keras.optimizers.Adam(), tf.keras.losses.Huber())
    path = self._folder / name
    if name.startswith('hdf5'):
      model.save(path.with_suffix('.h5'))
      path.with_suffix('.h5').rename(path)
    else:
      model.save(path)
    images = np.random.default_rng(0).random([2, 8, 8, 3], np.float32)
    tolerance.assert_close(
      keras_files.load_keras_model(path)(images),
      model(images),
      relative=tolerance.FLOAT32_SUMS,
    )

  def test_published_networks(self):
    applications = tf.keras.applications
    for create in (applications.MobileNetV2, applications.MobileNetV3Small):
      model = create(weights=None, input_shape=(32, 32, 3), include_top=False)
      model.save(self._folder / 'model.h5')
      loaded = keras_files.load_keras_model(self._folder / 'model.h5')
      self.assertEqual(loaded.count_params(), model.count_params())

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of extractors made of Keras models and files."""

import os
import re
import subprocess
import sys
import types
from unittest import mock
import zipfile

from fedfish_tff import errors
from fedfish_tff.models import frozen_graph
from fedfish_tff.models import traced_graph
from tests import processes
from tests import temporary_folders
from tests import tolerance

from absl.testing import parameterized
import h5py
import numpy as np
import pytest
import tensorflow as tf


def _create_model(name='small', library=tf.keras):
  """A network with everything that differs in training, seeded weights."""
  layers = library.layers
  model = library.Sequential(
    [
      layers.Input((8, 8, 3)),
      layers.Conv2D(6, 3, activation='relu'),
      layers.BatchNormalization(),
      layers.Dropout(0.5),
      layers.GlobalAveragePooling2D(name=f'{name}_pool'),
      layers.Dense(4, activation='tanh'),
    ],
    name=name,
  )
  rng = np.random.default_rng(0)
  model.set_weights(
    [
      # Variances are vectors, which are positive then.
      (
        rng.uniform(0.1, 1, w.shape)
        if w.ndim == 1
        else 0.3 * rng.standard_normal(w.shape)
      ).astype(np.float32)
      for w in model.get_weights()
    ]
  )
  return model


def _create_pooling_model():
  """Returns the part of that network below its dense layer."""
  model = _create_model()
  return tf.keras.Model(
    model.inputs, model.get_layer('small_pool').output, name=model.name
  )


class _Loop(tf.keras.layers.Layer):
  """Multiplies what is positive, three times."""

  def __init__(self, factor):
    super().__init__()
    self._factor = factor

  def call(self, x):
    def body(i, x):
      x = tf.cond(
        tf.reduce_sum(x) > 0, lambda: self._factor * x, lambda: x + 0.1
      )
      return i + 1, x

    return tf.while_loop(lambda i, _: i < 3, body, [0, x])[1]


def _images(n=5):
  return np.random.default_rng(1).random([n, 8, 8, 3], np.float32)


def _assert_gradients(extractor, inputs, expected):
  """Compares the gradients of sum(features^2), by each weight."""

  @tf.function
  def gradients(weights):
    with tf.GradientTape() as tape:
      tape.watch(weights)
      loss = tf.reduce_sum(extractor.apply(weights, inputs) ** 2)
    return tape.gradient(loss, weights)

  tolerance.assert_all_close(
    gradients([tf.constant(weight) for weight in extractor.initial_weights]),
    expected,
  )


def _keras_gradients(model, inputs, variables=None):
  with tf.GradientTape() as tape:
    loss = tf.reduce_sum(model(inputs, training=False) ** 2)
  return tape.gradient(loss, variables or model.trainable_variables)


class FrozenGraphTest(temporary_folders.TestCase):
  def test_equals_the_model_in_evaluation(self):
    model = _create_model()
    expected = model(_images(), training=False).numpy()
    extractor = frozen_graph.freeze_keras_model(model)
    model.set_weights([0 * weight for weight in model.get_weights()])
    tolerance.assert_close(extractor.extract(_images()), expected)
    self.assertEqual((extractor.name, extractor.num_features), ('small', 4))

  def test_weights_are_what_training_may_change(self):
    model = _create_model()
    extractor = frozen_graph.freeze_keras_model(model)
    expected = [variable.numpy() for variable in model.trainable_variables]
    self.assertLen(extractor.initial_weights, 6)
    tolerance.assert_same(extractor.initial_weights, expected)

  def test_outputs_over_the_image_are_averaged(self):
    model = _create_model()
    maps = tf.keras.Model(model.inputs, model.layers[1].output)
    tolerance.assert_close(
      frozen_graph.freeze_keras_model(maps).extract(_images()),
      frozen_graph.freeze_keras_model(_create_pooling_model()).extract(
        _images()
      ),
    )

  # Other tests split before the layer between.
  @parameterized.parameters((1, 2), (2, 4), (4, 4))
  def test_split(self, index, num_below):
    model = _create_model()
    name = model.layers[index].name
    inner = tf.keras.Model(model.inputs, model.layers[index].input)
    between = inner(_images(), training=False).numpy()
    expected = model(_images(), training=False).numpy()
    whole = frozen_graph.freeze_keras_model(model)
    # The network may change before the extractor is split.
    model.set_weights([0 * weight for weight in model.get_weights()])
    lower, upper = whole.split(name)
    vectors = lower.extract(_images())
    tolerance.assert_close(vectors, between.reshape(len(vectors), -1))
    tolerance.assert_close(upper.extract(vectors), expected)
    self.assertLen(lower.initial_weights, num_below)
    self.assertLen(upper.initial_weights, 6 - num_below)
    self.assertEqual(
      (lower.name, upper.name), (f'small_to_{name}', f'small_from_{name}')
    )
    self.assertLen({e.fingerprint for e in (whole, lower, upper)}, 3)

  def test_split_before_the_first_layer(self):
    model = _create_model()
    whole = frozen_graph.freeze_keras_model(model)
    lower, upper = whole.split(model.layers[0].name)
    vectors = lower.extract(_images())
    np.testing.assert_array_equal(vectors, _images().reshape(5, -1))
    tolerance.assert_close(upper.extract(vectors), whole.extract(_images()))

  def test_preprocessing_stays_below_a_split(self):
    model = _create_model()
    whole = frozen_graph.freeze_keras_model(
      model,
      preprocess=lambda x: tf.cast(x, tf.float32) / 255,
      input_spec=tf.TensorSpec([None, 8, 8, 3], tf.uint8),
    )
    images = (255 * _images()).astype(np.uint8)
    lower, upper = whole.split('small_pool')
    self.assertEqual(lower.input_spec.dtype, tf.uint8)
    expected = model(images / np.float32(255), training=False)
    tolerance.assert_close(whole.extract(images), expected)
    tolerance.assert_close(upper.extract(lower.extract(images)), expected)

  def test_gradients_of_the_upper_part(self):
    model = _create_model()
    lower, upper = frozen_graph.freeze_keras_model(model).split('small_pool')
    _assert_gradients(
      upper,
      tf.constant(lower.extract(_images())),
      _keras_gradients(model, _images(), model.layers[-1].trainable_variables),
    )

  def test_connections_past_a_layer(self):
    """As in residual networks: between blocks, not in them."""
    source = tf.keras.Input([4])
    first = tf.keras.layers.Dense(4, name='first')(source)
    within = tf.keras.layers.Dense(4, name='within')(first)
    added = tf.keras.layers.Add(name='sum')([first, within])
    result = tf.keras.layers.Dense(2, name='last')(added)
    model = tf.keras.Model(source, result, name='residual')
    x = np.random.default_rng(0).standard_normal([3, 4]).astype(np.float32)
    whole = frozen_graph.freeze_keras_model(model)
    lower, upper = whole.split('last')
    tolerance.assert_close(upper.extract(lower.extract(x)), model(x))
    # Both go on from the same tensor.
    lower, upper = whole.split('within')
    tolerance.assert_close(upper.extract(lower.extract(x)), model(x))
    self.assertLen(upper.initial_weights, 4)
    second = tf.keras.layers.Dense(4, name='second')(within)
    model = tf.keras.Model(source, first + second, name='residual')
    with self.assertRaisesRegex(
      errors.InputError,
      "'residual'.*split before.*layer.*'second'.*connection",
    ):
      frozen_graph.freeze_keras_model(model).split('second')

  def test_layers_that_it_cannot_be_split_before(self):
    model = _create_model()
    extractor = frozen_graph.freeze_keras_model(_create_pooling_model())
    for layer in ('none', model.layers[-1].name):
      with self.assertRaisesRegex(
        errors.InputError,
        f"split before layer '{layer}'.*one of conv2d.*, small_pool",
      ):
        extractor.split(layer)
    lower, upper = extractor.split('small_pool')
    for part in (lower, upper):
      with self.assertRaisesRegex(errors.InputError, 'whose layers are known'):
        part.split('small_pool')
    source = tf.keras.Input([None, None, 3])
    any_size = tf.keras.layers.Conv2D(2, 3, name='any_size')(
      tf.keras.layers.Conv2D(2, 3)(source)
    )
    tokens = tf.keras.Input([4], dtype=tf.int32)
    embedded = tf.keras.layers.Embedding(5, 2, name='table')(tokens)
    for model, layer, found in (
      (
        tf.keras.Model(source, any_size),
        'any_size',
        'float32[None, None, None, 2]',
      ),
      (tf.keras.Model(tokens, embedded[:, 0]), 'table', 'int32[None, 4]'),
    ):
      with self.assertRaisesRegex(
        errors.InputError, f'{layer}.*{re.escape(found)}'
      ):
        frozen_graph.freeze_keras_model(model).split(layer)

  @pytest.mark.thorough
  def test_fingerprint_is_the_same_in_every_process(self):
    model = _create_model()
    paths = [str(self.folder / name) for name in ('a.h5', 'b.keras', 'c')]
    for path in paths:
      model.save(path)
    fingerprints = [
      frozen_graph.load_extractor(path, trusted=True).fingerprint
      for path in paths
    ]
    code = (
      'import sys\n'
      'from fedfish_tff.models import frozen_graph\n'
      'from tests.models import frozen_graph_test\n'
      'other = frozen_graph_test._create_model()\n'
      'frozen_graph.freeze_keras_model(other)\n'
      'for path in sys.argv[1:]:\n'
      '  print(frozen_graph.load_extractor(path, trusted=True).fingerprint)'
    )
    other_process = subprocess.run(
      [sys.executable, '-c', code, *paths],
      capture_output=True,
      text=True,
      check=True,
      timeout=processes.HANG_SECONDS,
    )
    self.assertEqual(other_process.stdout.split(), fingerprints)

  def test_loops_and_branches(self):
    """Gradients of up to 200 in float32, through 18 steps."""

    def create(factor=2.0):
      source = tf.keras.Input([6, 3])
      outputs = tf.keras.layers.GRU(4, activation='swish')(source)
      outputs = _Loop(factor)(outputs)
      outputs = tf.keras.layers.Dense(2, activation=tf.nn.silu)(outputs)
      model = tf.keras.Model(source, outputs)
      rng = np.random.default_rng(0)
      model.set_weights(
        [rng.standard_normal(w.shape) for w in model.get_weights()]
      )
      return model

    model = create()
    extractor = frozen_graph.freeze_keras_model(model)
    x = np.random.default_rng(0).standard_normal([5, 6, 3]).astype(np.float32)
    expected = model(x, training=False).numpy()
    tolerance.assert_close(extractor.extract(x), expected)
    # Weights come in the order of use, which is another one here.
    wanted = {
      variable.numpy().tobytes(): gradient
      for variable, gradient in zip(
        model.trainable_variables, _keras_gradients(model, x), strict=True
      )
    }
    self.assertLen(wanted, 5)
    _assert_gradients(
      extractor, x, [wanted[w.tobytes()] for w in extractor.initial_weights]
    )

  def test_fingerprint_tells_networks_apart(self):
    model = _create_model()
    fingerprints = {
      frozen_graph.freeze_keras_model(network, **options).fingerprint
      for network, options in (
        (model, {}),
        (_create_pooling_model(), {}),
        (model, {'preprocess': lambda x: x / 2}),
        (model, {'preprocess': lambda x: x / 3}),
      )
    }
    statistics = model.layers[1].moving_mean
    statistics.assign(2 * statistics)
    fingerprints.add(frozen_graph.freeze_keras_model(model).fingerprint)
    self.assertLen(fingerprints, 5)

  def _save_and_load(self, model, path):
    """Returns the extractor of a file, which is refused without trust."""
    model.save(path)
    with self.assertRaisesRegex(errors.InputError, '--trust_saved_models'):
      frozen_graph.load_extractor(path)
    return frozen_graph.load_extractor(path, trusted=True)

  @parameterized.parameters('model.h5', 'model.keras', 'saved_model')
  def test_files(self, name):
    model = _create_model()
    path = self.folder / name
    extractor = self._save_and_load(model, path)
    tolerance.assert_close(
      extractor.extract(_images()), model(_images(), training=False)
    )
    self.assertLen(extractor.initial_weights, 6)
    self.assertEqual(
      extractor.fingerprint,
      frozen_graph.load_extractor(path, trusted=True).fingerprint,
    )
    if name == 'saved_model':
      with self.assertRaisesRegex(errors.InputError, 'whose layers are known'):
        extractor.split('small_pool')

  @parameterized.parameters('model.h5', 'model.keras')
  def test_files_of_keras_3(self, name):
    keras = pytest.importorskip('keras', minversion='3')
    model = _create_model(library=keras)
    path = self.folder / name
    extractor = self._save_and_load(model, path)
    expected = np.asarray(model(_images(), training=False))
    tolerance.assert_close(extractor.extract(_images()), expected)
    # A loaded model has called its layers before, for other outputs.
    for layer, num_below in zip(extractor.layers, (0, 2, 4, 4, 4), strict=True):
      lower, upper = extractor.split(layer)
      tolerance.assert_close(upper.extract(lower.extract(_images())), expected)
      self.assertLen(lower.initial_weights, num_below)
      self.assertLen(upper.initial_weights, 6 - num_below)
    _assert_gradients(
      extractor,
      tf.constant(_images()),
      _keras_gradients(
        model, _images(), [v.value for v in model.trainable_variables]
      ),
    )
    # Other models change the numbers in the names of layers.
    frozen_graph.freeze_keras_model(_create_model('other', library=keras))
    self.assertEqual(
      extractor.fingerprint,
      frozen_graph.load_extractor(path, trusted=True).fingerprint,
    )

  def test_functional_models_of_keras_3(self):
    keras = pytest.importorskip('keras', minversion='3')
    source = keras.Input([4])
    first = keras.layers.Dense(4, name='first')
    within = keras.layers.Dense(4, name='within')(first(source))
    added = keras.layers.Add(name='sum')([first(within), within])
    model = keras.Model(source, keras.layers.Dense(2, name='last')(added))
    x = np.random.default_rng(0).standard_normal([3, 4]).astype(np.float32)
    whole = frozen_graph.freeze_keras_model(model)
    # Neither what is called twice, nor what takes two tensors.
    self.assertEqual(whole.layers, ('within', 'last'))
    lower, upper = whole.split('last')
    tolerance.assert_close(
      upper.extract(lower.extract(x)), np.asarray(model(x))
    )

  def test_models_of_keras_3_that_cannot_be_used(self):
    keras = pytest.importorskip('keras', minversion='3')

    class Subclassed(keras.Model):
      def call(self, x):
        return x

    model = _create_model(library=keras)
    for unbuilt in (Subclassed(), keras.Sequential([keras.layers.Dense(2)])):
      with self.assertRaisesRegex(errors.InputError, 'one input, got 0'):
        frozen_graph.freeze_keras_model(unbuilt)
    path = self.folder / 'lambda.keras'
    keras.Sequential(
      [keras.layers.Input((3,)), keras.layers.Lambda(lambda x: 2 * x)]
    ).save(path)
    with self.assertRaisesRegex(
      errors.InputError, '^The model .*lambda.keras cannot be read .*Lambda.*$'
    ):
      frozen_graph.load_extractor(path, trusted=True)
    path = self.folder / 'model.keras'
    model.save(path)
    with mock.patch.dict(os.environ, KERAS_BACKEND='jax'):
      with self.assertRaisesRegex(
        errors.InputError,
        '^The model .*model.keras cannot be read '
        r'\(KERAS_BACKEND must be tensorflow for .*Keras 3, got jax\).$',
      ):
        frozen_graph.load_keras_model(path)
      with self.assertRaisesRegex(
        errors.InputError, "^Model 'small' cannot be used: KERAS_BACKEND must"
      ):
        frozen_graph.freeze_keras_model(model)
    # Named by ~/.keras/keras.json.
    with mock.patch.object(keras.backend, 'backend', lambda: 'torch'):
      with self.assertRaisesRegex(errors.InputError, 'must be tensorflow'):
        frozen_graph.load_keras_model(path)

  def test_files_of_keras_3_where_keras_is_an_older_one(self):
    path = self.folder / 'model.keras'
    with zipfile.ZipFile(path, 'w') as archive:
      archive.writestr('metadata.json', '{"keras_version": "3.9.0"}')
    older = types.SimpleNamespace(__version__='2.14.0')
    with mock.patch.dict(sys.modules, keras=older):
      with self.assertRaisesRegex(
        errors.InputError,
        '^The model .*model.keras cannot be read '
        r'\(Keras 3 must be installed, .*got Keras 2.14.0\).$',
      ):
        frozen_graph.load_extractor(path, trusted=True)

  def test_an_hdf5_file_in_the_place_of_an_archive(self):
    """Keras loads it without its safe mode, so that Python code in it runs."""
    for name in ('model.keras', 'model.KERAS'):
      with h5py.File(self.folder / name, 'w') as file:
        file.attrs['keras_version'] = '2.21.0'
      with self.assertRaisesRegex(
        errors.InputError,
        rf'^The model .*/{name} cannot be read \(.* not a zip',
      ):
        frozen_graph.load_extractor(self.folder / name, trusted=True)

  def test_damaged_metadata(self):
    path = self.folder / 'model.keras'
    for name, content, message in (
      ('metadata.json', '{}', 'keras_version must be a string, got None'),
      ('metadata.json', '[', 'it is not valid JSON'),
      ('config.json', '{}', 'no item named .*metadata.json'),
    ):
      with zipfile.ZipFile(path, 'w') as archive:
        archive.writestr(name, content)
      with self.assertRaisesRegex(
        errors.InputError, f'^The model .* cannot be read .*{message}.*$'
      ):
        frozen_graph.load_extractor(path, trusted=True)

  def test_saved_model_of_a_module(self):
    module = tf.Module()
    module.kernel = tf.Variable(tf.ones([8, 8, 3, 2]))
    module.call = tf.function(
      lambda x: tf.nn.conv2d(x, module.kernel, 1, 'VALID')
    )
    # TensorFlow would look for files that match.
    path = str(self.folder / 'a [x]*' / 'module')
    tf.saved_model.save(
      module,
      path,
      module.call.get_concrete_function(
        tf.TensorSpec([None, 8, 8, 3], tf.float32)
      ),
    )
    extractor = frozen_graph.load_extractor(path, trusted=True)
    tolerance.assert_close(
      extractor.extract(_images()),
      np.repeat(_images().sum(axis=(1, 2, 3))[:, np.newaxis], 2, axis=1),
    )
    self.assertLen(extractor.initial_weights, 1)

  def test_files_that_cannot_be_used(self):
    model = _create_model()
    model.save_weights(self.folder / 'weights.h5')
    for name in ('model.h5', 'model.keras'):
      model.save(self.folder / name)
      content = (self.folder / name).read_bytes()
      damaged = self.folder / f'damaged_{name}'
      damaged.write_bytes(content[: len(content) // 2])
    (self.folder / 'bad').mkdir()
    (self.folder / 'bad' / 'saved_model.pb').write_bytes(b'\xff')
    tf.saved_model.save(tf.Module(), str(self.folder / 'empty'))
    for name, message in (
      ('damaged_model.h5', 'damaged_model.h5 cannot be read'),
      ('damaged_model.keras', 'damaged_model.keras cannot be read'),
      ('weights.h5', 'weights.h5 cannot be read'),
      ('none', '/none must be the folder of a SavedModel or a'),
      ('none.h5', '/none.h5 must be the folder of a SavedModel or a'),
      ('bad', 'bad .*cannot be read'),
      ('empty', 'signature serving_default'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        frozen_graph.load_extractor(self.folder / name, trusted=True)

  def test_models_that_cannot_be_used(self):
    source = tf.keras.Input([2])
    other = tf.keras.Input([2])
    dense = tf.keras.layers.Dense
    for message, model in (
      ('one input, got 2', tf.keras.Model([source, other], source + other)),
      ('one input, got 0', tf.keras.Sequential([dense(2)])),
      (
        'outputs of rank 3',
        tf.keras.Sequential([dense(2, input_shape=(3, 4))]),
      ),
      (
        'one output .*got outputs of rank 2, 2',
        tf.keras.Model(source, [source, 2 * source]),
      ),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        frozen_graph.freeze_keras_model(model)


_SPEC = tf.TensorSpec([None, 3], tf.float32)


class TracedGraphTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._bias, self._kernel = (
      tf.Variable(tf.ones(shape)) for shape in ([2], [3, 2])
    )

  def test_images_with_channels_first(self):
    kernel = tf.Variable(tf.ones([2, 2, 3, 1]))
    with self.assertRaisesRegex(
      errors.InputError, 'channels.*first at conv.*CPU'
    ):
      traced_graph.trace_graph(
        lambda x: tf.nn.conv2d(
          x, kernel, 1, 'VALID', data_format='NCHW', name='conv'
        ),
        tf.TensorSpec([None, 3, 8, 8], tf.float32),
      )

  @parameterized.parameters(
    'assign', 'scatter', 'loop', 'call', 'generator', 'state'
  )
  def test_refuses_what_changes_variables(self, way):
    generator = tf.random.Generator.from_seed(0)

    def compute(x):
      if way == 'assign':
        self._bias.assign_add(x[0, :2])
      elif way == 'scatter':
        self._bias.scatter_nd_update([[0]], x[0, :1])
      elif way == 'loop':
        for _ in tf.range(2):
          self._bias.assign_add(x[0, :2])
      elif way == 'call':
        tf.function(self._bias.assign_add)(x[0, :2])
      elif way == 'state':
        x += tf.raw_ops.StatefulUniform(
          resource=generator.state.handle,
          algorithm=1,
          shape=[3],
          dtype=tf.float32,
        )
      else:
        x += generator.uniform([3])
      return x @ self._kernel + self._bias

    with self.assertRaisesRegex(
      errors.InputError, 'must only read its variables, got one that .* changes'
    ):
      traced_graph.trace_graph(compute, _SPEC)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Weights from files, against the Keras model that has written them."""

import pathlib

from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff import trust
from tests import tolerance

from absl.testing import parameterized
import h5py
import numpy as np
import pytest
from safetensors import numpy as safetensors_numpy
import tensorflow as tf
import tensorflow_federated as tff


def _create_keras_model(names, *, seed=0, hidden=5, library=tf.keras):
  """Returns a model with random weights, of layers of these names or none."""
  library.backend.clear_session()
  initializer = library.initializers.RandomNormal(seed=seed)
  convolution, dense, output = names or (None,) * 3
  options = {'kernel_initializer': initializer, 'bias_initializer': initializer}
  layers = library.layers
  return library.Sequential(
    [
      layers.Input((4, 4, 1)),
      layers.Conv2D(2, 3, name=convolution, **options),
      layers.Flatten(),
      layers.Dense(hidden, name=dense, **options),
      layers.Dense(3, name=output, **options),
    ]
  )


def _create_nested_model(library, seed=0):
  """Returns a model with a model in it, and everything that has no weights."""
  layers, constant = library.layers, library.initializers.RandomNormal
  inner = library.Sequential(
    [
      layers.Input((5,)),
      layers.Dense(4, name='hidden', kernel_initializer=constant(seed=seed)),
      layers.Dropout(0.5),
    ],
    name='inner',
  )
  source = library.Input((4, 4, 1))
  outputs = layers.Reshape((4, 4))(source)
  outputs = layers.Bidirectional(layers.GRU(3, name='gru'), name='both')(
    outputs
  )
  outputs = layers.Dense(
    5, name='frozen', kernel_initializer=constant(seed=seed + 1)
  )(layers.Dropout(0.5)(outputs))
  return library.Model(
    source, layers.Dense(3, name='output')(inner(outputs)), name='outer'
  )


def _save_npz(model, path):
  names = models.keras_tensor_names(model)
  np.savez(path, **dict(zip(names, model.get_weights(), strict=True)))


def _save_exported_npz(model, path):
  np.savez(
    path, **{f'trainable_{i}': w for i, w in enumerate(model.get_weights())}
  )


def _save_safetensors(model, path):
  names = models.keras_tensor_names(model)
  tensors = dict(zip(names, model.get_weights(), strict=True))
  safetensors_numpy.save_file(tensors, path)


_NAMES = ('first', 'hidden', 'output')
_SAVE = {
  'w.npz': _save_npz,
  'exported.npz': _save_exported_npz,
  'w.safetensors': _save_safetensors,
  'weights.h5': tf.keras.Model.save_weights,
  'model.h5': tf.keras.Model.save,
  'model.keras': tf.keras.Model.save,
  'w.weights.h5': tf.keras.Model.save_weights,
}


# Names of layers in files of Keras 3 include those of the models around them.
_KERAS_3_FILES = ('model.keras', 'model.h5', 'w.weights.h5')


def _import_keras_3():
  return pytest.importorskip('keras', minversion='3')


def _save_with_keras_3(model, path):
  if path.name.endswith('.weights.h5'):
    model.save_weights(path)
  else:
    model.save(path)


class WeightFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.addCleanup(trust.trust, **trust.granted())

  def _read(self, path, keras_model):
    """Returns the model of a Keras model with the weights of a file."""
    model = models.create_keras_classifier(
      keras_model, input_spec=tf.TensorSpec([None, 4, 4, 1], tf.float32)
    )
    names = models.keras_tensor_names(keras_model)
    weights = models.fit_weights(
      model,
      models.read_weights(path, names),
      tensor_names=names,
      source=path.name,
    )
    return models.with_weights(model, weights)

  @parameterized.product(name=tuple(_SAVE), layers=(_NAMES, None))
  def test_predicts_as_the_model_of_the_file(self, name, layers):
    trust.trust(saved_models=True)
    written = _create_keras_model(layers)
    _SAVE[name](written, self.folder / name)
    x = np.random.default_rng(0).normal(size=(6, 4, 4, 1)).astype(np.float32)
    expected = written(x).numpy()
    other = _create_keras_model(layers, seed=1)
    if name == 'w.weights.h5' and layers:
      # Keras does not write these names.
      with self.assertRaisesRegex(
        errors.InputError, "w.weights.h5 must have a tensor 'first/kernel'"
      ):
        self._read(self.folder / name, other)
      return
    model = self._read(self.folder / name, other)
    found = model.predict_on_batch(model.initial_weights, x, training=False)
    np.testing.assert_array_equal(found, expected)
    self.assertNotAllClose(other(x), expected)

  def assertNotAllClose(self, found, expected):
    self.assertGreater(np.abs(found - expected).max(), 1e-3)

  @parameterized.parameters(*_SAVE)
  def test_names_the_first_tensor_that_does_not_fit(self, name):
    trust.trust(saved_models=True)
    _SAVE[name](_create_keras_model(None), self.folder / name)
    tensor = 'trainable_2' if name == 'exported.npz' else 'dense/kernel'
    with self.assertRaisesRegex(
      errors.InputError,
      rf"^{name} must have a tensor '{tensor}' of shape \(8, 7\), as the model "
      r'has, got one of \(8, 5\); it has ',
    ):
      self._read(self.folder / name, _create_keras_model(None, hidden=7))

  @parameterized.parameters(
    *((name, _NAMES) for name in _KERAS_3_FILES), ('w.weights.h5', None)
  )
  def test_files_of_keras_3(self, name, layers):
    keras = _import_keras_3()
    written = _create_keras_model(layers, library=keras)
    # As after training, whose state is in the files.
    written.compile('adam')
    written.optimizer.build(written.trainable_variables)
    _save_with_keras_3(written, self.folder / name)
    x = np.random.default_rng(0).normal(size=(6, 4, 4, 1)).astype(np.float32)
    model = self._read(self.folder / name, _create_keras_model(layers, seed=1))
    found = model.predict_on_batch(model.initial_weights, x, training=False)
    tolerance.assert_close(found, np.asarray(written(x)))

  def test_another_model_of_keras_3(self):
    keras = _import_keras_3()
    _create_keras_model(_NAMES, library=keras).save(self.folder / 'w.keras')
    with self.assertRaisesRegex(
      errors.InputError,
      r"^w.keras must have a tensor 'hidden/kernel' of shape \(8, 7\), as the "
      r'model has, got one of \(8, 5\); it has ',
    ):
      self._read(self.folder / 'w.keras', _create_keras_model(_NAMES, hidden=7))

  def test_models_in_a_model_of_keras_3(self):
    keras = _import_keras_3()
    written = _create_nested_model(keras)
    written.get_layer('frozen').trainable = False
    other = _create_nested_model(tf.keras, seed=7)
    names = models.keras_tensor_names(other)
    self.assertContainsSubset(
      {'hidden/kernel', 'both/forward_gru/gru_cell/bias', 'frozen/kernel'},
      names,
    )
    x = np.random.default_rng(0).normal(size=(6, 4, 4, 1)).astype(np.float32)
    expected = np.asarray(written(x))
    for name in _KERAS_3_FILES:
      path = self.folder / name
      _save_with_keras_3(written, path)
      if name == 'w.weights.h5':
        # As the first releases of Keras 3 write it.
        with h5py.File(path, 'a') as file:
          file['layers/dropout/seed_generator/vars/0'] = np.zeros(2, np.uint32)
      tensors = models.read_weights(path, names)
      self.assertCountEqual(tensors, names)
      other.set_weights([tensors[name] for name in names])
      tolerance.assert_close(other(x).numpy(), expected)
      other.set_weights([0 * tensors[name] for name in names])

  def test_layers_of_keras_3_with_names_of_other_numbers(self):
    """Keras itself goes by the numbers of classes in a model, too."""
    keras = _import_keras_3()
    dense = keras.layers.Dense
    for names, tensor_names in (
      (('dense_2', 'dense_3'), ('dense/kernel', 'dense_1/kernel')),
      # Names come before numbers.
      (('dense_1', 'dense'), ('dense_1/kernel', 'dense/kernel')),
    ):
      written = keras.Sequential(
        [keras.layers.Input((4,))]
        + [dense(4, name=name, use_bias=False) for name in names]
      )
      for name in ('w.keras', 'w.weights.h5'):
        _save_with_keras_3(written, self.folder / name)
        found = models.read_weights(self.folder / name, tensor_names)
        for key, weight in zip(
          tensor_names, written.get_weights(), strict=True
        ):
          np.testing.assert_array_equal(found[key], weight)

  def test_layers_of_the_same_name(self):
    """Keras 3 allows them in lists; none of them is lost."""
    path = self.folder / 'w.weights.h5'
    with h5py.File(path, 'w') as file:
      for i, group in enumerate(('blocks/dense', 'others/dense')):
        file.create_group(f'{group}/vars').attrs['name'] = 'a'
        file[f'{group}/vars/0'] = i
    self.assertEqual(
      models.read_weights(path, ['a/kernel']),
      {'a/kernel': 0, 'a/vars/0 (others/dense/vars/0)': 1},
    )

  def test_tensors_that_end_alike(self):
    """None is taken for another one, and none is lost."""
    path = self.folder / 'w.h5'
    with h5py.File(path, 'w') as file:
      file.attrs['layer_names'] = ['a']
      names = ['outer/a/kernel', 'a/kernel', 'inner/b/kernel', 'other/b/kernel']
      file.create_group('a').attrs['weight_names'] = names
      for i, name in enumerate(names):
        file['a'][name] = i
    found = models.read_weights(path, ['a/kernel', 'b/kernel'])
    self.assertEqual(
      found,
      {'outer/a/kernel': 0, 'a/kernel': 1, 'b/kernel': 2, 'other/b/kernel': 3},
    )

  def test_safetensors_of_fewer_bits(self):
    written = _create_keras_model(_NAMES)
    names = models.keras_tensor_names(written)
    half = tf.bfloat16.as_numpy_dtype
    weights = [weight.astype(half) for weight in written.get_weights()]
    path = self.folder / 'w.safetensors'
    safetensors_numpy.save_file(dict(zip(names, weights, strict=True)), path)
    model = self._read(path, _create_keras_model(_NAMES, seed=1))
    tolerance.assert_same(
      model.initial_weights[0],
      [weight.astype(np.float32) for weight in weights],
    )

  @parameterized.parameters(*_SAVE)
  def test_damaged_files(self, name):
    trust.trust(saved_models=True)
    path = self.folder / name
    _SAVE[name](_create_keras_model(_NAMES), path)
    content = path.read_bytes()
    for length in (0, len(content) // 2):
      path.write_bytes(content[:length])
      with self.assertRaisesRegex(
        errors.InputError,
        rf'^The (weights|model) .*{name} cannot be read \(.*$',
      ):
        models.read_weights(path, _NAMES)

  def test_tensors_that_the_model_lacks(self):
    model = _create_keras_model(_NAMES)
    path = self.folder / 'w.npz'
    np.savez(
      path,
      more=np.zeros(3),
      **dict(
        zip(models.keras_tensor_names(model), model.get_weights(), strict=True)
      ),
    )
    with self.assertRaisesRegex(errors.InputError, "got another one, 'more'"):
      self._read(path, model)

  def test_statistics_are_those_of_the_model_s_order(self):
    """Only names of the package's own tell which they are."""
    layers = tf.keras.layers
    keras_model = tf.keras.Sequential(
      [layers.Input((3,)), layers.BatchNormalization(), layers.Dense(2)]
    )
    keras_model.layers[0].set_weights(
      np.random.default_rng(0).uniform(1, 2, [4, 3])
    )
    names = models.keras_tensor_names(keras_model)
    model = models.create_keras_classifier(
      keras_model,
      input_spec=tf.TensorSpec([None, 3], tf.float32),
      freeze_statistics=True,
    )
    tensors = models.name_weights(
      tff.learning.models.ModelWeights(*model.initial_weights), names
    )
    self.assertLen(tensors, 6)
    other = models.with_weights(
      model,
      tff.learning.models.ModelWeights(
        *tf.nest.map_structure(np.zeros_like, model.initial_weights)
      ),
    )
    fitted = models.fit_weights(
      other, tensors, tensor_names=names, source='run'
    )
    tf.nest.map_structure(
      np.testing.assert_array_equal,
      (fitted.trainable, fitted.non_trainable),
      model.initial_weights,
    )
    path = self.folder / 'w.h5'
    keras_model.save_weights(path)
    with self.assertRaisesRegex(errors.InputError, "'non_trainable_0'"):
      models.fit_weights(
        model,
        models.read_weights(path, names),
        tensor_names=names,
        source=path,
      )

  def test_a_model_that_is_not_trusted(self):
    path = self.folder / 'model.keras'
    _create_keras_model(None).save(path)
    with self.assertRaisesRegex(errors.InputError, 'trust_saved_models'):
      models.read_weights(path, ())

  @parameterized.parameters('w.npz', 'w.h5', 'w.safetensors', 'w.txt', '')
  def test_files_that_cannot_be_read(self, name):
    path = self.folder / name
    if name:
      path.write_bytes(b'no weights')
    if name == 'w.npz':
      np.savez(path, a=np.array([object()], object))
    with self.assertRaisesRegex(
      errors.InputError,
      'must begin' if name in ('w.txt', '') else 'cannot be read',
    ):
      models.read_weights(path, ())

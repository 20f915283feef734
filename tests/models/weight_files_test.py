# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Weights from files, against the Keras model that has written them."""

import pathlib

from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff import trust

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def _create_keras_model(names, *, seed=0, hidden=5):
  """Returns a model with random weights, of layers of these names or none."""
  tf.keras.backend.clear_session()
  initializer = tf.keras.initializers.RandomNormal(seed=seed)
  convolution, dense, output = names or (None,) * 3
  options = {'kernel_initializer': initializer, 'bias_initializer': initializer}
  layers = tf.keras.layers
  return tf.keras.Sequential(
    [
      layers.Input((4, 4, 1)),
      layers.Conv2D(2, 3, name=convolution, **options),
      layers.Flatten(),
      layers.Dense(hidden, name=dense, **options),
      layers.Dense(3, name=output, **options),
    ]
  )


def _save_npz(model, path):
  names = models.keras_tensor_names(model)
  np.savez(path, **dict(zip(names, model.get_weights(), strict=True)))


def _save_exported_npz(model, path):
  np.savez(
    path, **{f'trainable_{i}': w for i, w in enumerate(model.get_weights())}
  )


_NAMES = ('first', 'hidden', 'output')
_SAVE = {
  'w.npz': _save_npz,
  'exported.npz': _save_exported_npz,
  'weights.h5': tf.keras.Model.save_weights,
  'model.h5': tf.keras.Model.save,
  'model.keras': tf.keras.Model.save,
  'w.weights.h5': tf.keras.Model.save_weights,
}


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

  @parameterized.parameters('w.npz', 'w.h5', 'w.txt', '')
  def test_files_that_cannot_be_read(self, name):
    path = self.folder / name
    if name:
      path.write_bytes(b'no weights')
    if name == 'w.npz':
      np.savez(path, a=np.array([object()], object))
    with self.assertRaisesRegex(
      errors.InputError,
      'cannot be read'
      if name.startswith('w.n') or name == 'w.h5'
      else 'must begin',
    ):
      models.read_weights(path, ())

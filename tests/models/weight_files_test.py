# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Weights from files, against the Keras model that has written them."""

import functools
import os
import pathlib

from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff.models import stored_tensors
from fedfish_tff.models import supervised
from tests import tolerance

from absl.testing import parameterized
import h5py
import numpy as np
import pytest
from safetensors import numpy as safetensors_numpy
import tensorflow as tf
import tensorflow_federated as tff


@functools.cache
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


def _save_positions(model, path):
  np.savez(path, *model.get_weights())


@functools.cache
def _any_model():
  return models.create_mlp_classifier(
    num_features=1, hidden_units=(), num_classes=2, seed=0
  )


def _zeros(**shapes):
  """Returns a model with other tensors than it computes with."""
  model = _any_model()
  weights = tuple(np.zeros(shape, np.float32) for shape in shapes.values())
  return supervised.replace_pass(model, model.predict_on_batch, (weights, ()))


def _read_tensors(path, shapes):
  """Returns the tensors for a model of tensors of these shapes by name."""
  weights = models.read_weights(
    path, _zeros(**shapes), tensor_names=tuple(shapes), trusted=True
  )
  return dict(zip(shapes, weights.trainable, strict=True))


_NAMES = ('first', 'hidden', 'output')
_SAVE = {
  'w.npz': _save_npz,
  'exported.npz': _save_exported_npz,
  'positions.npz': _save_positions,
  'w.safetensors': _save_safetensors,
  'weights.h5': tf.keras.Model.save_weights,
  'model.h5': tf.keras.Model.save,
  'model.keras': tf.keras.Model.save,
  'w.weights.h5': tf.keras.Model.save_weights,
}


# The files that have the names of tensors, and nothing else to go by.
_NAMED = ('w.npz', 'exported.npz', 'w.safetensors')


def _save_hdf5(path, tensors):
  with h5py.File(path, 'w') as file:
    file.attrs['layer_names'] = ['layer']
    file.create_group('layer').attrs['weight_names'] = [*tensors]
    for name, tensor in tensors.items():
      file['layer'][name] = tensor


_SAVE_TENSORS = {
  'w.npz': lambda path, tensors: np.savez(path, **tensors),
  'w.h5': _save_hdf5,
  'w.safetensors': lambda path, tensors: safetensors_numpy.save_file(
    tensors, path
  ),
}
# The dtypes that a form does not have: objects, dates and strings.
_KINDS_WITHOUT = {'w.h5': 'OM', 'w.safetensors': 'OMS'}

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

  def _read(self, path, keras_model):
    """Returns the weights of a file for a Keras model of other weights."""
    names = models.keras_tensor_names(keras_model)
    weights = keras_model.get_weights()
    return list(
      _read_tensors(
        path, {n: w.shape for n, w in zip(names, weights, strict=True)}
      ).values()
    )

  @parameterized.parameters(
    *((name, layers, layers) for name in _SAVE for layers in (_NAMES, None)),
    *((name, None, _NAMES) for name in _SAVE if name not in _NAMED),
  )
  def test_reads_the_weights(self, name, layers, layers_of_other):
    written = _create_keras_model(layers)
    _SAVE[name](written, self.folder / name)
    other = _create_keras_model(layers_of_other, seed=1)
    found = self._read(self.folder / name, other)
    tolerance.assert_same(found, written.get_weights())

  def test_predicts_as_the_model_of_the_file(self):
    written = _create_keras_model(_NAMES)
    path = self.folder / 'w.h5'
    written.save_weights(path)
    other = _create_keras_model(_NAMES, seed=1)
    model = models.create_keras_classifier(
      other, input_spec=tf.TensorSpec([None, 4, 4, 1], tf.float32)
    )
    weights = models.read_weights(
      path, model, tensor_names=models.keras_tensor_names(other)
    )
    model = models.with_weights(model, weights)
    x = np.random.default_rng(0).normal(size=(6, 4, 4, 1)).astype(np.float32)
    found = model.predict_on_batch(model.initial_weights, x, training=False)
    np.testing.assert_array_equal(found, written(x).numpy())

  @parameterized.parameters(*_SAVE)
  def test_names_the_first_tensor_that_does_not_fit(self, name):
    _SAVE[name](_create_keras_model(None), self.folder / name)
    tensor = 'trainable_2' if name == 'exported.npz' else 'dense/kernel'
    if name == 'positions.npz':
      # Nothing tells which of them it is.
      tensor, found = 'conv2d/kernel', 'no such tensor; it has arr_0, arr_1, '
    else:
      found = r'one of \(8, 5\); it has '
    with self.assertRaisesRegex(
      errors.InputError,
      rf"/{name} must have a tensor '{tensor}' of shape \(.*\), as the model "
      f'has, got {found}',
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
    for other in (layers, tuple('abc')):
      found = self._read(self.folder / name, _create_keras_model(other, seed=1))
      tolerance.assert_same(found, written.get_weights())

  @parameterized.parameters(*_SAVE_TENSORS)
  def test_values_that_the_model_cannot_have(self, name):
    path = self.folder / name
    for value, message in (
      ([True], 'got (bool|BOOL)'),
      ([1e300], r'got 1e\+300'),
      ([2.0, np.nan], 'got nan'),
      ([-np.inf], 'got -inf'),
      (np.array([1j], np.complex64), 'got (complex64|C64)'),
      ([3, -(2**40)], None),
      ([b'text'], 'got (object|bytes32)'),
      (np.array(['2026-11-29'], 'M8[D]'), r'got datetime64\[D\]'),
      (np.array([None]), 'got object'),
    ):
      value = np.array(value)
      if value.dtype.kind in _KINDS_WITHOUT.get(name, ''):
        continue
      _SAVE_TENSORS[name](path, {'a': np.ones(2), 'b': value})
      shapes = {'a': (2,), 'b': value.shape}
      if message is None:
        found = _read_tensors(path, shapes)['b']
        np.testing.assert_array_equal(found, value.astype(np.float32))
        self.assertEqual(found.dtype, np.float32)
        continue
      with self.assertRaisesRegex(
        errors.InputError, f"^Tensor 'b' of .*/{name} must hold .*{message}.$"
      ):
        _read_tensors(path, shapes)

  def test_another_model_of_keras_3(self):
    keras = _import_keras_3()
    _create_keras_model(_NAMES, library=keras).save(self.folder / 'w.keras')
    with self.assertRaisesRegex(
      errors.InputError,
      r"/w.keras must have a tensor 'hidden/kernel' of shape \(8, 7\), as the "
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
      shapes = {n: w.shape for n, w in zip(names, other.get_weights())}
      tensors = _read_tensors(path, shapes)
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
        found = _read_tensors(
          self.folder / name, dict.fromkeys(tensor_names, (4, 4))
        )
        for key, weight in zip(
          tensor_names, written.get_weights(), strict=True
        ):
          np.testing.assert_array_equal(found[key], weight)

  def test_names_what_has_written_the_file_and_what_will_do(self):
    path = self.folder / 'w.h5'
    _save_hdf5(path, {'a/kernel': 0.0})
    with h5py.File(path, 'a') as file:
      file.attrs['keras_version'] = '3.1.4'
    with self.assertRaisesRegex(
      errors.InputError,
      r"'b/kernel' of shape \(\), .*, got no such tensor; it has a/kernel "
      r'\(Keras 3.1.4 has written it\); .*numpy.savez\(FILE',
    ):
      _read_tensors(path, {'b/kernel': (), 'c/kernel': ()})

  def test_safetensors_of_fewer_bits(self):
    written = _create_keras_model(_NAMES)
    names = models.keras_tensor_names(written)
    half = tf.bfloat16.as_numpy_dtype
    weights = [weight.astype(half) for weight in written.get_weights()]
    path = self.folder / 'w.safetensors'
    safetensors_numpy.save_file(dict(zip(names, weights, strict=True)), path)
    tolerance.assert_same(
      self._read(path, _create_keras_model(_NAMES, seed=1)),
      [weight.astype(np.float32) for weight in weights],
    )

  @parameterized.parameters(*_SAVE)
  def test_damaged_files(self, name):
    path = self.folder / name
    _SAVE[name](_create_keras_model(_NAMES), path)
    content = path.read_bytes()
    for length in (0, len(content) // 2):
      path.write_bytes(content[:length])
      with self.assertRaisesRegex(
        errors.InputError,
        rf'^The (weights|model) .*{name} cannot be read \(.*$',
      ):
        _read_tensors(path, dict.fromkeys(_NAMES, (2,)))

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
    archive = self.folder / 'run.npz'
    np.savez(archive, **tensors)
    fitted = models.read_weights(archive, other, tensor_names=names)
    tf.nest.map_structure(
      np.testing.assert_array_equal,
      (fitted.trainable, fitted.non_trainable),
      model.initial_weights,
    )
    path = self.folder / 'w.h5'
    keras_model.save_weights(path)
    with self.assertRaisesRegex(errors.InputError, "'non_trainable_0'"):
      models.read_weights(path, model, tensor_names=names)

  def test_a_model_that_is_not_trusted(self):
    path = self.folder / 'model.keras'
    _create_keras_model(None).save(path)
    with self.assertRaisesRegex(errors.InputError, 'trust_saved_models'):
      models.read_weights(path, _zeros(), tensor_names=())

  @parameterized.parameters('w.npz', 'w.h5', 'w.safetensors', 'w.txt', '')
  def test_files_that_cannot_be_read(self, name):
    path = self.folder / name
    if name:
      path.write_bytes(b'no weights')
    with self.assertRaisesRegex(
      errors.InputError,
      'must begin' if name in ('w.txt', '') else 'cannot be read',
    ):
      _read_tensors(path, {})


class OpenHdf5Test(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.path = self.folder / 'a.h5'

  def _open(self):
    with stored_tensors.open_hdf5(self.path) as file:
      found = stored_tensors.find_datasets(file)
      return {name: dataset[()] for name, dataset in found.items()}

  def test_reads_what_the_file_holds(self):
    zeros = np.zeros(2**16)
    with h5py.File(self.path, 'w') as file:
      file['a'] = zeros
      # Space for more rows of it.
      file.create_dataset('b/c', data=zeros, maxshape=(None,), chunks=(2**20,))
      file['empty'] = h5py.Empty('f4')
      os.mkfifo(self.folder / 'pipe')
      file['link'] = h5py.ExternalLink(str(self.folder / 'pipe'), 'a')
    found = self._open()
    self.assertCountEqual(found, ['a', 'b/c', 'empty'])
    np.testing.assert_array_equal(found['a'], zeros)
    np.testing.assert_array_equal(found['b/c'], zeros)

  @parameterized.parameters(
    ((2**40,), (2**20,), 'f4', 'at most 268,435,456, got 4,398,046,511,104'),
    # One value, in a chunk that is decompressed as a whole.
    ((1,), (2**28,), 'f4', 'at most 268,435,456, got 1,073,741,824'),
    ((1,), (1,), 'S1000000000', 'at most 268,435,456, got 1,000,000,000'),
  )
  def test_values_that_were_never_written(self, shape, chunks, dtype, message):
    with h5py.File(self.path, 'w') as file:
      file.create_dataset('a', shape, dtype, chunks=chunks, maxshape=(None,))
    self.assertLess(self.path.stat().st_size, 10_000)
    with self.assertRaisesRegex(ValueError, message):
      self._open()

  def test_many_tensors_count_together(self):
    with h5py.File(self.path, 'w') as file:
      for i in range(5):
        file.create_dataset(f'{i}', (2**24,), 'f4', chunks=(2**20,))
    with self.assertRaisesRegex(ValueError, 'got 335,544,320'):
      self._open()

  def test_tensors_in_other_files(self):
    other = self.folder / 'secret'
    other.write_bytes(bytes(range(64)))
    layout = h5py.VirtualLayout((4,), 'f4')
    layout[:] = h5py.VirtualSource(str(self.folder / 'b.h5'), 'a', (4,))
    for create in (
      lambda file: file.create_dataset(
        'a', (4,), 'f4', external=[(str(other), 0, 16)]
      ),
      lambda file: file.create_virtual_dataset('a', layout),
    ):
      with h5py.File(self.path, 'w') as file:
        create(file)
      with self.assertRaisesRegex(ValueError, 'a must be in the file'):
        self._open()


class CastTest(parameterized.TestCase):
  @parameterized.parameters(
    (np.array([0.1]), 'f4', np.array([0.1], 'f4')),
    (np.array(7, 'u1'), 'f8', np.array(7.0)),
    (np.array([2.0, -3.0]), 'i8', np.array([2, -3])),
    (np.array([True]), '?', np.array([True])),
    (np.array([0.5]), 'i8', 'got 0.5'),
    (np.array([3, -1]), 'u1', 'got -1'),
    (np.array([2**40]), 'i4', 'got 1099511627776'),
    (np.array([np.nan]), 'i4', 'got nan'),
    (np.array([70000.0]), 'f2', 'got 70000'),
    (np.array([1]), '?', 'numbers that bool can have, got int64'),
  )
  def test_numbers_that_the_dtype_has(self, array, dtype, expected):
    tensor = stored_tensors.StoredTensor.of_array(array)
    if isinstance(expected, np.ndarray):
      found = stored_tensors.cast(tensor, np.dtype(dtype), name='A')
      np.testing.assert_array_equal(found, expected, strict=True)
    else:
      with self.assertRaisesRegex(errors.InputError, f'^A must .*{expected}'):
        stored_tensors.cast(tensor, np.dtype(dtype), name='A')

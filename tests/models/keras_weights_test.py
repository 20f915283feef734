# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Names of tensors in Keras' files, of which some are lost or ambiguous."""

import pathlib

from fedfish_tff.models import keras_weights
from fedfish_tff.models import stored_tensors

from absl.testing import parameterized
import h5py
import numpy as np


class KerasWeightsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    self.old, self.new = folder / 'w.h5', folder / 'w.weights.h5'

  def _find(self, path, *names, shape=()):
    """Returns the values of tensors by the names that are found, and the rest."""
    with stored_tensors.open_hdf5(path) as file:
      found = keras_weights.find_weights(file, dict.fromkeys(names, shape))
      tensors = {n: int(t.read().max()) for n, t in found.tensors.items()}
    return tensors, found.writer

  def test_layers_whose_order_is_not_certain(self):
    """Shapes must tell layers of other classes apart if names are lost."""
    names = [f'{layer}/kernel' for layer in 'wxyz']
    for groups, expected in (
      # The numbers of layers of one class are those of their order.
      (('dense', 'dense_1', 'dense_10', 'dense_2'), (0, 1, 3, 2)),
      (('dense', 'dense_1', 'dense_2', 'other'), None),
      (('dense', 'dense_1', 'dense_2', 'a/layers/dense'), None),
    ):
      with h5py.File(self.new, 'w') as file:
        for i, group in enumerate(groups):
          file[f'layers/{group}/vars/0'] = np.full((2, 2), i)
      found, writer = self._find(self.new, *names, shape=(2, 2))
      self.assertEqual(
        found,
        dict(zip(names, expected, strict=True))
        if expected
        else {f'{group}/vars/0': i for i, group in enumerate(groups)},
      )
      self.assertStartsWith(writer, 'Keras 2, or an early Keras 3')

  @parameterized.parameters(
    (('c/kernel', 'd/kernel'), (0, 1), (0, 1)),
    (('a/kernel', 'c/kernel'), (0, 1), (0, 1)),
    (('dense/kernel', 'c/kernel'), (0, 1), (0, 1)),
    # One name is that of the other place, or of another kind.
    (('b/kernel', 'c/kernel'), None, None),
    # The newer form has no kinds of tensors.
    (('a/kernel', 'c/bias'), None, (0, 1)),
  )
  def test_names_that_contradict_the_order(self, names, old, new):
    with h5py.File(self.old, 'w') as older, h5py.File(self.new, 'w') as newer:
      older.attrs['layer_names'] = ['a', 'b']
      older.attrs['keras_version'] = '3.1.4'
      for i, layer in enumerate('ab'):
        older.create_group(layer).attrs['weight_names'] = [f's/{layer}/kernel']
        older[f'{layer}/s/{layer}/kernel'] = i
        group = newer.create_group(f'layers/{["dense", "dense_1"][i]}/vars')
        group.attrs['name'], group['0'] = layer, i
    for path, values, writer in (
      (self.old, old, 'Keras 3.1.4'),
      (self.new, new, 'Keras 3'),
    ):
      found, found_writer = self._find(path, *names)
      self.assertEqual(found_writer, writer)
      if values:
        self.assertEqual(found, dict(zip(names, values, strict=True)))
      else:
        self.assertNotIn(names[1], found)
      self.assertLen(found, 2)

  def test_layers_of_the_same_name(self):
    """Keras 3 allows them in lists; none of them is lost."""
    with h5py.File(self.new, 'w') as file:
      for i, group in enumerate(('blocks/dense', 'others/dense')):
        file.create_group(f'{group}/vars').attrs['name'] = 'a'
        file[f'{group}/vars/0'] = i
    self.assertEqual(
      self._find(self.new, 'a/kernel')[0],
      {'a/kernel': 0, 'a/vars/0 (others/dense/vars/0)': 1},
    )

  def test_tensors_that_end_alike(self):
    """None is taken for another one, and none is lost."""
    names = ['outer/a/kernel', 'a/kernel', 'inner/b/kernel', 'other/b/kernel']
    with h5py.File(self.old, 'w') as file:
      file.attrs['layer_names'] = ['a']
      file.create_group('a').attrs['weight_names'] = names
      for i, name in enumerate(names):
        file['a'][name] = i
    self.assertEqual(
      self._find(self.old, 'a/kernel', 'b/kernel')[0],
      {'outer/a/kernel': 0, 'a/kernel': 1, 'b/kernel': 2, 'other/b/kernel': 3},
    )

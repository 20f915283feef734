# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the export of trained models."""

import subprocess
import sys
from unittest import mock

from fedfish_tff import errors
from launch.runs import export
from tests import processes
from tests import temporary_folders
from tests import tolerance
from tests.evaluation import softmax_regression

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_X, _ = softmax_regression.draw_examples(6, 0)
_MODEL = softmax_regression.create_functional_model()
# Not the model's initial weights.
_KERNEL, _BIAS = (2 * w for w in softmax_regression.initial_weights())
_WEIGHTS = tff.learning.models.ModelWeights([_KERNEL, _BIAS], [])

_READER = """
import sys, numpy as np, tensorflow as tf
model = tf.saved_model.load(sys.argv[1])
x = np.load(sys.argv[2], allow_pickle=False)
output = model.signatures['serving_default'](x=tf.constant(x))['output']
np.save(sys.argv[3], output.numpy())
"""


class ExportTest(temporary_folders.TestCase):
  def _predict(self, folder, **inputs):
    return tf.saved_model.load(folder).signatures['serving_default'](
      **{name: tf.constant(value) for name, value in inputs.items()}
    )

  def test_the_saved_model_predicts_with_the_weights(self):
    folder = self.folder / 'saved_model'
    export.write_saved_model(_MODEL, _WEIGHTS, folder)
    for size in (6, 2):
      tolerance.assert_close(
        self._predict(folder, x=_X[:size])['output'],
        _X[:size] @ _KERNEL + _BIAS,
        relative=tolerance.FLOAT32_SUMS,
      )
    self.assertEqual([p.name for p in self.folder.iterdir()], ['saved_model'])

  @pytest.mark.thorough
  def test_another_process_reads_it_with_tensorflow_alone(self):
    folder = self.folder / 'saved_model'
    export.write_saved_model(_MODEL, _WEIGHTS, folder)
    np.save(self.folder / 'x.npy', _X)
    subprocess.run(
      [
        sys.executable,
        '-c',
        _READER,
        folder,
        self.folder / 'x.npy',
        self.folder / 'output.npy',
      ],
      check=True,
      cwd=self.folder,
      env={'TF_CPP_MIN_LOG_LEVEL': '3', 'PATH': ''},
      timeout=processes.HANG_SECONDS,
    )
    tolerance.assert_close(
      np.load(self.folder / 'output.npy'),
      _X @ _KERNEL + _BIAS,
      relative=tolerance.FLOAT32_SUMS,
    )

  def test_inputs_and_outputs_by_name(self):
    @tf.function
    def predict_on_batch(model_weights, x, training):
      del training  # Unused.
      return {'scaled': x['a'] * model_weights[0][0], 'same': x['b']}

    model = tff.learning.models.FunctionalModel(
      initial_weights=((np.float32(1),), ()),
      predict_on_batch_fn=predict_on_batch,
      loss_fn=lambda output, label, sample_weight=None: 0.0,
      input_spec=(
        {
          'a': tf.TensorSpec([None], tf.float32),
          'b': tf.TensorSpec([None], tf.int32),
        },
        tf.TensorSpec([None], tf.float32),
      ),
    )
    export.write_saved_model(
      model,
      tff.learning.models.ModelWeights((np.float32(3),), ()),
      self.folder / 'm',
    )
    result = self._predict(
      self.folder / 'm', a=np.float32([1, 2]), b=np.int32([5, 6])
    )
    np.testing.assert_array_equal(result['scaled'], [3, 6])
    np.testing.assert_array_equal(result['same'], [5, 6])

  def test_a_failed_export_leaves_the_earlier_one(self):
    folder = self.folder / 'saved_model'
    export.write_saved_model(_MODEL, _WEIGHTS, folder)
    with mock.patch.object(
      tf.saved_model,
      'save',
      autospec=True,
      side_effect=OSError(28, 'No space left on device'),
    ):
      with self.assertRaisesRegex(errors.InputError, 'No space left'):
        export.write_saved_model(
          _MODEL,
          tff.learning.models.ModelWeights([0 * _KERNEL, _BIAS], []),
          folder,
        )
    tolerance.assert_close(
      self._predict(folder, x=_X)['output'],
      _X @ _KERNEL + _BIAS,
      relative=tolerance.FLOAT32_SUMS,
    )

  def test_a_new_export_replaces_the_earlier_one_and_nothing_else(self):
    folder = self.folder / 'saved_model'
    export.write_saved_model(_MODEL, _WEIGHTS, folder)
    (self.folder / 'saved_model.new').mkdir()
    (self.folder / 'saved_model.new' / 'mine').write_text('kept')
    export.write_saved_model(
      _MODEL, tff.learning.models.ModelWeights([0 * _KERNEL, _BIAS], []), folder
    )
    np.testing.assert_allclose(
      self._predict(folder, x=_X)['output'], np.tile(_BIAS, (6, 1)), rtol=1e-6
    )
    self.assertCountEqual(
      [p.name for p in self.folder.iterdir()],
      ['saved_model', 'saved_model.new'],
    )
    self.assertTrue((self.folder / 'saved_model.new' / 'mine').exists())

  def test_an_unwritable_folder_is_named(self):
    (self.folder / 'file').write_text('')
    with self.assertRaisesRegex(errors.InputError, 'Cannot write .*file/m'):
      export.write_saved_model(_MODEL, _WEIGHTS, self.folder / 'file' / 'm')

  def test_weights_are_arrays_in_the_models_order(self):
    path = self.folder / 'weights.npz'
    export.write_weights(
      tff.learning.models.ModelWeights([_KERNEL, _BIAS], [np.int64(7)]), path
    )
    with np.load(path, allow_pickle=False) as arrays:
      self.assertEqual(
        list(arrays), ['trainable_0', 'trainable_1', 'non_trainable_0']
      )
      np.testing.assert_array_equal(arrays['trainable_0'], _KERNEL)
      np.testing.assert_array_equal(arrays['trainable_1'], _BIAS)
      self.assertEqual(arrays['non_trainable_0'], 7)

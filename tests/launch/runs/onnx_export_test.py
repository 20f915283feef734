# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the export in ONNX, by the ONNX Runtime."""

import importlib.util
import pathlib
import sys
from unittest import mock

from fedfish_tff import errors
from launch.runs import onnx_export
from tests import tolerance
from tests.evaluation import softmax_regression

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_NO_WEIGHTS = tff.learning.models.ModelWeights((), ())


def _model(predict, x_spec):
  """A functional model without weights."""
  return tff.learning.models.FunctionalModel(
    initial_weights=((), ()),
    predict_on_batch_fn=tf.function(
      lambda model_weights, x, training: predict(x)
    ),
    loss_fn=lambda output, label, sample_weight=None: 0.0,
    input_spec=(x_spec, tf.TensorSpec([None], tf.float32)),
  )


class ImportTest(absltest.TestCase):
  def test_packages_that_are_missing(self):
    with mock.patch.dict(sys.modules, {'onnx': None, 'tf2onnx': None}):
      with self.assertRaisesRegex(errors.InputError, 'pip install .*tf2onnx'):
        onnx_export.import_converter()


class WriteTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    for package in ('onnx', 'onnxruntime', 'tf2onnx'):
      if importlib.util.find_spec(package) is None:
        self.skipTest(f'{package} is not installed')
    self._path = pathlib.Path(self.create_tempdir().full_path) / 'model.onnx'

  def _predict(self, **inputs):
    import onnxruntime  # pylint: disable=g-import-not-at-top

    session = onnxruntime.InferenceSession(self._path)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))

  @parameterized.parameters('functional', 'keras')
  def test_predicts_with_the_weights(self, name):
    x, _ = softmax_regression.draw_examples(6, 0)
    # Not the model's initial weights.
    kernel, bias = (2 * w for w in softmax_regression.initial_weights())
    onnx_export.write_onnx(
      softmax_regression.MODELS[name],
      tff.learning.models.ModelWeights([kernel, bias], []),
      self._path,
    )
    for size in (6, 2):
      tolerance.assert_close(
        self._predict(x=x[:size])['output'],
        x[:size] @ kernel + bias,
        relative=tolerance.FLOAT32_SUMS,
      )

  def test_recurrent_network_of_keras(self):
    def make_network():
      return tf.keras.Sequential(
        [
          tf.keras.layers.Input([5], dtype=tf.int32),
          tf.keras.layers.Embedding(11, 3, mask_zero=True),
          tf.keras.layers.LSTM(4),
        ]
      )

    network = make_network()
    rng = np.random.default_rng(0)
    weights = [
      rng.normal(size=w.shape).astype(np.float32) for w in network.weights
    ]
    network.set_weights(weights)
    onnx_export.write_onnx(
      lambda: tff.learning.models.from_keras_model(
        make_network(),
        loss=tf.keras.losses.MeanSquaredError(),
        input_spec=(
          tf.TensorSpec([None, 5], tf.int32),
          tf.TensorSpec([None, 4], tf.float32),
        ),
      ),
      tff.learning.models.ModelWeights(weights, []),
      self._path,
    )
    x = rng.integers(0, 11, (6, 5)).astype(np.int32)  # 0 is padding.
    tolerance.assert_close(
      self._predict(x=x)['output'],
      network(x),
      relative=tolerance.FLOAT32_SUMS,
    )

  def test_inputs_and_outputs_by_name(self):
    model = _model(
      lambda x: {'scaled': x['a'] * 3, 'same': x['b']},
      {
        'a': tf.TensorSpec([None], tf.float32),
        'b': tf.TensorSpec([None], tf.int32),
      },
    )
    onnx_export.write_onnx(model, _NO_WEIGHTS, self._path)
    result = self._predict(a=np.float32([1, 2]), b=np.int32([5, 6]))
    np.testing.assert_array_equal(result['scaled'], [3, 6])
    np.testing.assert_array_equal(result['same'], [5, 6])

  def test_tensors_that_the_model_holds_are_no_inputs(self):
    held = tf.constant([[1.0, 2.0]])
    model = _model(lambda x: x * held, tf.TensorSpec([None, 2], tf.float32))
    onnx_export.write_onnx(model, _NO_WEIGHTS, self._path)
    np.testing.assert_array_equal(
      self._predict(x=np.float32([[3, 4]]))['output'], [[3, 8]]
    )

  @parameterized.parameters(
    (tf.linalg.cholesky, 'Cholesky'),
    (lambda x: tf.cast(tf.cast(x, tf.bfloat16) + 1, tf.float32), 'bfloat16'),
  )
  def test_what_it_does_not_convert_is_named(self, compute, named):
    model = _model(compute, tf.TensorSpec([None, 2, 2], tf.float32))
    with self.assertNoLogs('tf2onnx'):
      with self.assertRaisesRegex(errors.InputError, f'in ONNX: .*{named}'):
        onnx_export.write_onnx(model, _NO_WEIGHTS, self._path)
    self.assertFalse(self._path.exists())

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the residual network, against the one of TFF's baselines."""

from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import datasets
from tasks.networks import resnet
from tests import tolerance
from tests.models import graph_rounds

from absl.testing import parameterized
import numpy as np
import pytest
from scipy import stats
import tensorflow as tf
import tensorflow_federated as tff

_SHAPE = (24, 24, 3)
_NUM_CLASSES = 100


def _keras_model():
  """Returns the Keras model of TFF's task on CIFAR-100."""
  task = tff.simulation.baselines.cifar100.create_image_classification_task(
    tff.simulation.baselines.ClientSpec(num_epochs=1, batch_size=2),
    model_id='resnet18',
    use_synthetic_data=True,
  )
  return task.model_fn()._keras_model


def _assign(keras_model, weights):
  """Sets the weights of a Keras model, whose layers are listed by depth."""

  def made(layer):
    # Keras numbers layers of a kind in the order in which they were made.
    return int(layer.name.rpartition('_')[2]) if layer.name[-1].isdigit() else 0

  layers = {4: [], 1: [], 2: []}
  for layer in keras_model.layers:
    if layer.trainable_weights:
      layers[layer.trainable_weights[0].shape.rank].append(layer)
  layers = {rank: iter(sorted(of, key=made)) for rank, of in layers.items()}
  weights = iter(weights)
  count = 0
  for weight in weights:
    variables = next(layers[weight.ndim]).trainable_weights
    for variable in variables:
      variable.assign(weight if variable is variables[0] else next(weights))
      count += 1
  assert count == len(keras_model.trainable_weights)


class ResnetTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.model = resnet.create_resnet18(
      input_shape=_SHAPE, num_classes=_NUM_CLASSES, seed=3
    )
    cls.keras_model = _keras_model()

  def test_has_as_many_weights_as_tffs(self):
    weights, non_trainable = self.model.initial_weights
    self.assertEmpty(non_trainable)
    num_weights = sum(w.size for w in weights)
    self.assertEqual(num_weights, self.keras_model.count_params())
    self.assertEqual(num_weights, 11_227_812)

  def test_is_tffs_model_up_to_the_softmax(self):
    rng = np.random.default_rng(0)
    # Scales and offsets other than their 1 and 0 at the start, too.
    weights = [
      (w + 0.1 * rng.standard_normal(w.shape) * (w.ndim == 1)).astype('f4')
      for w in self.model.initial_weights[0]
    ]
    _assign(self.keras_model, weights)
    x = rng.standard_normal([3, *_SHAPE]).astype(np.float32)
    logits = self.model.predict_on_batch((weights, ()), x, training=True)
    self.assertGreater(np.ptp(logits), 0.1)
    tolerance.assert_close(
      tf.nn.softmax(logits),
      self.keras_model(x),
      relative=tolerance.FLOAT32_STEPS,
    )

  def test_initial_weights(self):
    weights = self.model.initial_weights[0]
    kernels = [w for w in weights if w.ndim == 4]
    self.assertLen(kernels, 1 + 2 * 8 + 3)
    for kernel in kernels:
      fan_in = np.prod(kernel.shape[:-1])
      standard = kernel * np.sqrt(fan_in / 2) * stats.truncnorm(-2, 2).std()
      self.assertLessEqual(np.abs(standard).max(), 2.0001)
      test = stats.kstest(standard.ravel()[:5000], stats.truncnorm(-2, 2).cdf)
      self.assertGreater(test.pvalue, 1e-3)
    dense = next(w for w in weights if w.ndim == 2)
    self.assertGreater(stats.kstest(100 * dense.ravel(), 'norm').pvalue, 1e-3)
    vectors = [w for w in weights if w.ndim == 1]
    for scale, offset in zip(vectors[:-1:2], vectors[1:-1:2], strict=True):
      np.testing.assert_array_equal(scale, 1)
      np.testing.assert_array_equal(offset, 0)
    np.testing.assert_array_equal(vectors[-1], np.zeros(_NUM_CLASSES))

  @pytest.mark.thorough
  def test_rounds_run_as_graphs(self):
    """The kernels of two blocks, since tracing all takes long."""
    with mock.patch.multiple(
      resnet, _BLOCKS=resnet._BLOCKS[:2], _STAGES=resnet._STAGES[:1]
    ):
      model = resnet.create_resnet18(
        input_shape=(4, 4, 3), num_classes=2, seed=0
      )
      optimizer = tff.learning.optimizers.build_sgdm(0.1)
      process = algorithms.build_fed_avg(model, optimizer, optimizer)
      rng = np.random.default_rng(0)
      client = datasets.sequential_batches(
        (rng.random([3, 4, 4, 3], np.float32), np.array([0, 1, 0], np.int32)),
        client_id='a',
        batch_size=2,
      )
      weights, _ = graph_rounds.check(process, [client])
    for before, after in zip(
      model.initial_weights[0], weights.trainable, strict=True
    ):
      self.assertFalse(np.array_equal(before, after))

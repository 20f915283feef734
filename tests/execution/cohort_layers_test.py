# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Layers of Keras compute the same bits whatever clients run beside."""

from unittest import mock

from fedfish_tff import private_apis
from fedfish_tff.execution import contexts
from tests.execution import client_computations

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

# Enough for what happens in one call of twenty, on a busy machine.
_CALLS = 100

_L = tf.keras.layers


def _residual(x):
  y = _L.Conv2D(3, 3, padding='same', activation='relu')(x)
  y = _L.Conv2D(3, 3, padding='same')(y)
  # x is read again, so that the sum cannot take its place.
  return _L.Add()([_L.ReLU()(_L.Add()([y, x])), x])


def _normalized_by_given_mean(x):
  """Batch normalisation with a mean that clients do not share."""
  ones = tf.ones(x.shape[-1])
  y, *_ = tf.compat.v1.nn.fused_batch_norm(
    x, ones, ones, tf.reduce_mean(x, [0, 1, 2]), ones, is_training=False
  )
  return y


# The layers of each shape of an example.
_LAYERS = {
  (6,): {
    'dense': lambda x: _L.Dense(4, activation='gelu')(x),
    'layer_norm': lambda x: _L.LayerNormalization()(x),
    'batch_norm': lambda x: _L.BatchNormalization()(x),
    'unit_norm': lambda x: _L.UnitNormalization()(x),
    'prelu': lambda x: _L.PReLU()(x),
    'elu': lambda x: _L.ELU()(x),
    'leaky_relu': lambda x: _L.LeakyReLU()(x),
    'softmax': lambda x: _L.Softmax()(x),
    'swish': lambda x: _L.Activation('swish')(x),
    'softplus': lambda x: _L.Activation('softplus')(x),
  },
  (6, 4): {
    'layer_norm': lambda x: _L.LayerNormalization()(x),
    'layer_norm_of_both': lambda x: _L.LayerNormalization(axis=(1, 2))(x),
    'batch_norm': lambda x: _L.BatchNormalization()(x),
    'group_norm': lambda x: _L.GroupNormalization(2)(x),
    'convolution': lambda x: _L.Conv1D(4, 3)(x),
    'separable': lambda x: _L.SeparableConv1D(4, 3)(x),
    'transposed': lambda x: _L.Conv1DTranspose(4, 3)(x),
    'max_pooling': lambda x: _L.MaxPool1D()(x),
    'mean_pooling': lambda x: _L.AveragePooling1D()(x),
    'lstm': lambda x: _L.LSTM(3)(x),
    'gru': lambda x: _L.GRU(3, return_sequences=True)(x),
    'attention': lambda x: _L.MultiHeadAttention(2, 2)(x, x),
    'dot_attention': lambda x: _L.Attention()([x, x]),
    'additive': lambda x: _L.AdditiveAttention()([x, x]),
  },
  (6, 6, 3): {
    'layer_norm': lambda x: _L.LayerNormalization()(x),
    'layer_norm_of_axes': lambda x: _L.LayerNormalization(axis=(2, 3))(x),
    'batch_norm': lambda x: _L.BatchNormalization()(x),
    'given_mean': _normalized_by_given_mean,
    'group_norm': lambda x: _L.GroupNormalization(3)(x),
    'convolution': lambda x: _L.Conv2D(4, 3, activation='relu')(x),
    'padded': lambda x: _L.Conv2D(4, 3)(_L.ZeroPadding2D()(x)),
    'dilated': lambda x: _L.Conv2D(4, 3, dilation_rate=2)(x),
    'depthwise': lambda x: _L.DepthwiseConv2D(3)(x),
    'separable': lambda x: _L.SeparableConv2D(4, 3)(x),
    'transposed': lambda x: _L.Conv2DTranspose(4, 3)(x),
    'residual': _residual,
    'max_pooling': lambda x: _L.MaxPool2D()(x),
    'mean_pooling': lambda x: _L.AveragePooling2D()(x),
    'local_response': lambda x: tf.nn.local_response_normalization(x, 2),
    'recurrent': lambda x: _L.ConvLSTM1D(2, 3)(x),
    'resized': lambda x: _L.UpSampling2D(interpolation='bilinear')(x),
  },
  (4, 4, 4, 2): {
    'layer_norm': lambda x: _L.LayerNormalization()(x),
    'batch_norm': lambda x: _L.BatchNormalization()(x),
    'convolution': lambda x: _L.Conv3D(3, 3)(x),
    'transposed': lambda x: _L.Conv3DTranspose(3, 3)(x),
    'max_pooling': lambda x: _L.MaxPool3D()(x),
    'mean_pooling': lambda x: _L.AveragePooling3D()(x),
  },
}


def _work(shape, layers):
  """Returns client work that trains each layer, then evaluates it."""

  @tff.tensorflow.computation(
    tff.SequenceType(tff.TensorType(np.float32, [None, *shape]))
  )
  def work(dataset):
    @tf.function
    def train(model, dataset):
      rng = np.random.default_rng(0)
      variables = model.trainable_variables
      for variable in variables:
        variable.assign(
          rng.normal(size=variable.shape).astype(np.float32) * 0.3
        )

      def step(total, x):
        with tf.GradientTape() as tape:
          # Statistics of batches count, even where the layer has no weights.
          loss = tf.reduce_sum(model(x, training=True) ** 2 * tf.reduce_mean(x))
        gradients = tape.gradient(loss, variables) if variables else []
        for variable, gradient in zip(variables, gradients, strict=True):
          variable.assign_sub(1e-3 * gradient)
        return total + loss

      loss = dataset.reduce(0.0, step)
      evaluated = dataset.reduce(
        0.0, lambda total, x: total + tf.reduce_sum(model(x) ** 2)
      )
      return [loss, evaluated, *[v.read_value() for v in model.variables]]

    results = {}
    for name, create in layers.items():
      inputs = tf.keras.Input(shape)
      first = _L.Dense(shape[-1])(inputs)
      model = tf.keras.Model(inputs, create(first))
      results[name] = train(model, dataset)
    return results

  return work


class KernelsTest(absltest.TestCase):
  def test_no_kernel_that_keeps_what_a_call_writes(self):
    """Neither where a graph is replayed nor where it runs as it is."""
    layer = {'layer_norm': _LAYERS[6, 4]['layer_norm']}
    work = _work((6, 4), layer)
    client = tf.data.Dataset.from_tensors(np.ones([2, 6, 4], np.float32))
    create, add = private_apis.create_operation, private_apis.add_function
    context = contexts.create_context()
    with (
      mock.patch.object(
        private_apis, 'create_operation', autospec=True, side_effect=create
      ) as created,
      mock.patch.object(
        private_apis, 'add_function', autospec=True, side_effect=add
      ) as added,
      tff.framework.get_context_stack().install(context),
    ):
      client_computations.at_clients(work)([client])
      replayed = {call.args[0] for call in created.call_args_list}
      added.reset_mock()
      work(client)
      imported = {
        node.op
        for call in added.call_args_list
        for node in call.args[0].node_def
      }
    for operations in (replayed, imported):
      self.assertIn('Rsqrt', operations)
      self.assertEmpty([name for name in operations if 'BatchNorm' in name])


class LayersTest(parameterized.TestCase):
  @parameterized.parameters(*_LAYERS)
  @pytest.mark.thorough
  def test_layers(self, *shape):
    work = _work(shape, _LAYERS[shape])
    rng = np.random.default_rng(0)
    clients = [
      tf.data.Dataset.from_tensor_slices(
        rng.normal(size=(n, *shape)).astype(np.float32)
      ).batch(4)
      for n in (7, 3, 12, 5, 9)
    ]

    all_clients = client_computations.at_clients(work)
    context = contexts.create_context(max_concurrent_computation_calls=2)
    with tff.framework.get_context_stack().install(context):
      expected = None
      for call in range(_CALLS):
        results = [
          tf.nest.map_structure(lambda a: np.asarray(a).tobytes(), dict(client))
          for client in all_clients(clients)
        ]
        expected = expected or results
        for name in _LAYERS[shape]:
          self.assertEqual(
            [client[name] for client in results],
            [client[name] for client in expected],
            f'{name} in call {call}',
          )
    self.assertEmpty(context.runner.general_path_reasons)

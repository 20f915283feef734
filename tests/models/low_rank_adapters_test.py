# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of LoRA, against NumPy, a dense model and the transformers library."""

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff import simulation
from tests import numpy_reference as ref
from tests import roberta_files
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
from scipy import stats
import tensorflow as tf
import tensorflow_federated as tff

_START = ref.initial_weights()
_MODEL = ref.create_functional_model()
_NAMES = ('hidden/kernel', 'hidden/bias', 'output/kernel', 'output/bias')
_RATE = 0.1


def _adapt(**kwargs):
  return models.add_low_rank_adapters(
    _MODEL,
    **{
      **dict(
        tensor_names=_NAMES,
        targets=['hidden'],
        trained=['output'],
        rank=2,
        alpha=3.0,
        seed=0,
      ),
      **kwargs,
    },
  )


def _sgd():
  return tff.learning.optimizers.build_sgdm(_RATE)


def _weights(*tensors):
  return tff.learning.models.ModelWeights(
    tuple(tf.constant(tensor, tf.float32) for tensor in tensors), ()
  )


def _gradients(model, weights, x, y):
  return models.bind_model(model).loss_gradients(
    models.flatten_weights(weights), tf.constant(x), tf.constant(y)
  )


@pytest.mark.thorough
class RobertaTest(absltest.TestCase):
  def test_computes_what_the_library_does_with_merged_matrices(self):
    keras_model = roberta_files.create_keras_model()
    spec = tf.TensorSpec([None, roberta_files.LENGTH], tf.int32)

    def call(tokens, training):
      mask = tf.cast(tf.not_equal(tokens, 1), tf.int32)
      return keras_model(tokens, attention_mask=mask, training=training).logits

    plain = models.create_keras_classifier(
      keras_model, call=call, input_spec=spec
    )
    adapted = models.add_low_rank_adapters(
      plain,
      tensor_names=models.keras_tensor_names(keras_model),
      targets=['query', 'value'],
      trained=['classifier'],
      rank=3,
      alpha=6.0,
      seed=0,
    )
    layer = 'roberta/encoder/layer_0/attention/self'
    self.assertEqual(
      adapted.tensor_names,
      tuple(
        f'{layer}/{name}/{factor}'
        for name in ('query', 'value')
        for factor in ('lora_a', 'lora_b')
      )
      + tuple(
        f'classifier/{name}/{part}'
        for name in ('dense', 'out_proj')
        for part in ('kernel', 'bias')
      ),
    )
    tokens = roberta_files.train_tokens().encode(roberta_files.TEXTS[:5])
    x = tf.constant(tokens)

    def predict(model, weights):
      return model.predict_on_batch((weights, ()), x, training=False).numpy()

    np.testing.assert_array_equal(
      predict(adapted.model, adapted.model.initial_weights[0]),
      predict(plain, plain.initial_weights[0]),
    )
    rng = np.random.default_rng(1)
    moved = [
      w + 0.3 * rng.normal(size=w.shape).astype(np.float32)
      for w in adapted.model.initial_weights[0]
    ]
    attention = keras_model.roberta.encoder.layer[0].attention.self_attention
    kernels = (attention.query.kernel, attention.value.kernel)
    for kernel, a, b in zip(kernels, moved[0:4:2], moved[1:4:2]):
      kernel.assign_add(6.0 / 3 * np.float64(a) @ np.float64(b))
    head = [
      v for v in keras_model.trainable_variables if '/classifier/' in v.name
    ]
    for variable, value in zip(head, moved[4:], strict=True):
      variable.assign(value)
    expected = roberta_files.compute_logits(keras_model, tokens)
    merged = adapted.merge(tff.learning.models.ModelWeights(moved, ()))
    for found in (
      predict(adapted.model, moved),
      predict(plain, merged.trainable),
    ):
      tolerance.assert_close(found, expected, relative=tolerance.FLOAT32_STEPS)


class AdaptersTest(parameterized.TestCase):
  def test_gradients_are_those_of_the_paper_s_formula(self):
    """By the chain rule from NumPy's gradient of the merged matrix."""
    adapted = _adapt()
    rng = np.random.default_rng(0)
    a, b, kernel, bias = (
      rng.normal(size=w.shape) for w in adapted.model.initial_weights[0]
    )
    ((x, y),) = ref.make_batches(7, 0, batch_size=7)
    whole = _START[0] + 3.0 / 2 * a @ b
    dense, _, of_kernel, of_bias = ref.gradients(
      (whole, _START[1], kernel, bias), x, y
    )
    found = _gradients(adapted.model, _weights(a, b, kernel, bias), x, y)
    tolerance.assert_all_close(
      found, (1.5 * dense @ b.T, 1.5 * a.T @ dense, of_kernel, of_bias)
    )

  def test_adapters_of_full_rank_take_the_dense_step(self):
    """B = 0 makes it s^2 A A^T times the dense one, of which A can be rid."""
    adapted = _adapt(rank=4, alpha=8.0)
    ((x, y),) = ref.make_batches(7, 0, batch_size=7)
    dense = [w - _RATE * g for w, g in zip(_START, ref.gradients(_START, x, y))]
    drawn, zero, *head = adapted.model.initial_weights[0]
    for a in (drawn, np.eye(4) / 2):
      start = _weights(a, zero, *head)
      gradients = _gradients(adapted.model, start, x, y)
      found = adapted.merge(
        _weights(*(w - _RATE * g for w, g in zip(start.trainable, gradients)))
      ).trainable
      expected = _START[0] + 4 * a @ a.T @ (dense[0] - _START[0])
      tolerance.assert_all_close(found, (expected, _START[1], *dense[2:]))

  def test_only_adapters_and_what_is_trained_travel(self):
    sent = simulation.measure_wire_bytes(
      algorithms.build_fed_avg(_adapt().model, _sgd())
    )
    self.assertEqual(sent.download, 4 * (2 * (4 + 5) + 5 * 3 + 3))

  def test_a_is_normal_and_a_function_of_the_seed(self):
    def draw(seed):
      model = models.create_mlp_classifier(
        num_features=400, hidden_units=[300], num_classes=3, seed=0
      )
      return models.add_low_rank_adapters(
        model,
        tensor_names=_NAMES,
        targets=['hidden'],
        rank=50,
        seed=seed,
      ).model.initial_weights[0]

    a, b = draw(0)
    test = stats.kstest(a.ravel(), stats.norm(0, (3 * 400) ** -0.5).cdf)
    self.assertGreater(test.pvalue, 0.01)
    self.assertFalse(b.any())
    np.testing.assert_array_equal(draw(0)[0], a)
    self.assertFalse(np.array_equal(draw(1)[0], a))

  @parameterized.parameters(
    (dict(rank=0), 'rank .*0'),
    (dict(rank=5), "rank.*most 4, the smaller side.*'hidden/kernel'.*5"),
    (dict(alpha=0.0), 'alpha must be .*got 0.0'),
    (dict(targets=['idden']), "'idden'.*hidden/kernel"),
    (dict(targets=[]), 'targets .*none'),
    (dict(trained=['head']), "called 'head'"),
    (dict(targets=['output']), "'output/kernel' .*an adapter"),
    (
      dict(tensor_names=_NAMES[:2]),
      'tensor_names .*got 2',
    ),
  )
  def test_bad_arguments(self, changes, message):
    with self.assertRaisesRegex(errors.InputError, message):
      _adapt(**changes)

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""MAML's local training, eagerly, against NumPy, autodiff and closed forms."""

from fedfish_tff import client_work
from tests import client_updates
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_HESSIAN_FREE = client_work.MetaGradient.HESSIAN_FREE
_EXACT = client_work.MetaGradient.EXACT
_FIRST_ORDER = client_work.MetaGradient.FIRST_ORDER
_SHARED = client_work.MetaBatches.SHARED
# A personal rate at which the Hessian shows, and a difference by far above
# float32's rounding, at which differences are not the Hessian.
_RATE, _ALPHA, _DELTA = 0.3, 0.5, 0.5


def _train(batches, *, model=None, alpha=_ALPHA, **kwargs):
  train = client_work.build_meta_training(
    tff.learning.optimizers.build_sgdm(_RATE),
    personal_learning_rate=alpha,
    **kwargs,
  )
  return client_updates.run(train, batches, model=model)


def _step_size(order):
  return 2 if order is _FIRST_ORDER else 3


def _expected(order, batches):
  return ref.maml_train(
    ref.initial_weights(),
    batches,
    step_size=_step_size(order),
    rate=_RATE,
    personal_rate=_ALPHA,
    difference=_DELTA if order is _HESSIAN_FREE else None,
  )


def _loss_after_a_step(weights, x, y, alpha):
  """F(w) = f(w - alpha grad f(w)) of the network, float64."""

  def loss(weights):
    w1, b1, w2, b2 = weights
    return tf.reduce_mean(
      tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=y, logits=tf.tanh(x @ w1 + b1) @ w2 + b2
      )
    )

  with tf.GradientTape() as tape:
    tape.watch(weights)
    before = loss(weights)
  gradients = tape.gradient(before, weights)
  return loss([w - alpha * g for w, g in zip(weights, gradients)])


def _linear_model():
  """The squared error of x w, whose Hessian is constant."""
  return tff.learning.models.FunctionalModel(
    initial_weights=((np.zeros([ref.NUM_FEATURES, 1], np.float32),), ()),
    predict_on_batch_fn=tf.function(
      lambda weights, x, training: x @ weights[0][0]
    ),
    loss_fn=lambda output, label, sample_weight=None: tf.reduce_mean(
      tf.square(output[:, 0] - tf.cast(label, tf.float32))
    ),
    metrics_fns=(
      lambda: (),
      lambda state, labels, batch_output, sample_weight=None: (),
      lambda state: {},
    ),
    input_spec=ref.input_spec(),
  )


class MetaTrainingTest(parameterized.TestCase):
  def _assert_close(self, actual, expected):
    tolerance.assert_all_close(
      actual, expected, relative=tolerance.FLOAT32_STEPS
    )

  @parameterized.parameters(
    # One batch, two, and a batch more than two steps.
    (_HESSIAN_FREE, 3),
    (_HESSIAN_FREE, 7),
    (_HESSIAN_FREE, 25),
    (_EXACT, 25),
    # One batch; two whole steps.
    (_FIRST_ORDER, 3),
    (_FIRST_ORDER, 16),
  )
  def test_equals_algorithm_1(self, order, num_examples):
    batches = ref.make_batches(num_examples, 0)
    result = _train(batches, meta_gradient=order, difference=_DELTA)
    self._assert_close(result.weights.trainable, _expected(order, batches))
    self.assertEqual(result.num_examples, num_examples)
    self.assertEqual(result.num_batches, len(batches))

  def test_metrics_are_of_the_second_batches_after_a_step(self):
    batches = ref.make_batches(10, 0)
    metrics = _train(batches).metrics_state
    weights = ref.initial_weights()
    adapted = tuple(
      w - _ALPHA * g
      for w, g in zip(weights, ref.gradients(weights, *batches[0]))
    )
    x, y = batches[1]
    losses = -np.log(ref.probabilities(adapted, x)[np.arange(len(y)), y])
    self.assertEqual(np.sum(metrics['num_examples']), len(y))
    total, count = metrics['loss']
    self.assertAlmostEqual((total / count).numpy(), losses.mean(), places=5)

  @parameterized.parameters(*client_work.MetaGradient)
  def test_shared_batches_are_a_step_each(self, order):
    batches = ref.make_batches(7, 0)
    result = _train(
      batches,
      meta_gradient=order,
      meta_batches=_SHARED,
      difference=_DELTA,
    )
    repeated = np.repeat(np.arange(len(batches)), _step_size(order))
    expected = _expected(order, [batches[i] for i in repeated])
    self._assert_close(result.weights.trainable, expected)
    self.assertEqual(np.sum(result.metrics_state['num_examples']), 7)

  def test_shared_and_exact_is_the_gradient_of_the_loss_after_a_step(self):
    ((x, y),) = batches = ref.make_batches(4, 0)
    result = _train(batches, meta_gradient=_EXACT, meta_batches=_SHARED)
    weights = [tf.constant(w, tf.float64) for w in ref.initial_weights()]
    with tf.GradientTape() as tape:
      tape.watch(weights)
      loss = _loss_after_a_step(weights, np.float64(x), y, _ALPHA)
    for end, start, gradient in zip(
      result.weights.trainable, weights, tape.gradient(loss, weights)
    ):
      tolerance.assert_close(
        end,
        start - _RATE * gradient,
        # Ours is float32: sums, three gradients deep.
        relative=4 * tolerance.FLOAT32_SUMS,
      )

  @parameterized.parameters(
    (_EXACT, 1.0), (_HESSIAN_FREE, 0.01), (_HESSIAN_FREE, 10.0)
  )
  def test_differences_are_exact_where_the_loss_is_quadratic(
    self, order, difference
  ):
    batches = ref.make_batches(12, 0)
    result = _train(
      batches,
      model=_linear_model(),
      alpha=0.2,
      meta_gradient=order,
      difference=difference,
    )

    def gradient(w, x, y):
      return 2 / len(y) * x.T @ (x @ w - y[:, np.newaxis])

    start = np.zeros([ref.NUM_FEATURES, 1])
    one, two, (x, _) = ((np.float64(x), y) for x, y in batches)
    g = gradient(start - 0.2 * gradient(start, *one), *two)
    expected = -_RATE * (g - 0.2 * 2 / len(x) * x.T @ (x @ g))
    # A gradient's rounding, over the difference.
    relative = tolerance.FLOAT32_SUMS * max(1, 1 / difference)
    tolerance.assert_close(
      result.weights.trainable[0], expected, relative=relative
    )

  def test_without_a_step_of_its_own_it_is_sgd_on_the_second_batches(self):
    batches = ref.make_batches(24, 0)
    result = _train(batches, alpha=0.0)
    self._assert_close(
      result.weights.trainable,
      ref.train(ref.initial_weights(), batches[1::3], rate=_RATE, epochs=1),
    )

  def test_no_data_changes_nothing(self):
    result = _train([])
    tolerance.assert_same(result.weights.trainable, ref.initial_weights())
    self.assertEqual(result.num_examples, 0)

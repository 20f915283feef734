# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Both kinds of model, seen through one interface, against NumPy."""

import collections

from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff.models import supervised
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_KINDS = (
  ('functional', ref.create_functional_model()),
  ('variable', ref.create_variable_model),
)


def _weights(model, start):
  if models.is_functional(model):
    return tff.learning.models.ModelWeights(start, ())
  return tff.learning.models.ModelWeights(list(start), [])


class BoundModelTest(parameterized.TestCase):
  @parameterized.named_parameters(*_KINDS)
  def test_gradients_equal_numpy(self, model):
    start = ref.initial_weights(1)
    ((x, y),) = ref.make_batches(6, 0, batch_size=6)
    bound = models.bind_model(model)
    flat = models.FlatWeights(tuple(tf.constant(w) for w in start), ())

    @tf.function
    def run():
      result = bound.training_gradients(flat, bound.initial_metrics(), (x, y))
      return (
        result.gradients,
        bound.loss_gradients(flat, x, y),
        (result.num_examples),
      )

    training, loss_only, num_examples = run()
    self.assertEqual(num_examples, 6)
    for a, b, e in zip(training, loss_only, ref.gradients(start, x, y)):
      tolerance.assert_close(a, e)
      tolerance.assert_close(b, e)

  @parameterized.named_parameters(*_KINDS)
  def test_hessian_product_equals_differences_and_leaves_metrics(self, model):
    start, vector = ref.initial_weights(1), ref.initial_weights(2)
    ((x, y),) = ref.make_batches(6, 0, batch_size=6)
    bound = models.bind_model(model)
    flat = models.FlatWeights(tuple(tf.constant(w) for w in start), ())

    @tf.function
    def run():
      result = bound.training_gradients(flat, bound.initial_metrics(), (x, y))
      before = bound.unfinalized_metrics(result.metrics_state)
      product = bound.hessian_product(
        flat, x, y, tuple(tf.constant(v) for v in vector)
      )
      after = bound.unfinalized_metrics(result.metrics_state)
      return product, before, after

    product, before, after = run()
    for a, e in zip(
      product, ref.hessian_product(start, x, y, vector), strict=True
    ):
      # The gradient of a gradient.
      tolerance.assert_close(a, e, relative=2 * tolerance.FLOAT32_SUMS)
    tf.nest.map_structure(np.testing.assert_array_equal, after, before)
    self.assertNotEmpty(tf.nest.flatten(before))

  @parameterized.named_parameters(*_KINDS)
  def test_predictions_equal_numpy(self, model):
    start = ref.initial_weights(1)
    ((x, _),) = ref.make_batches(6, 0, batch_size=6)
    bound = models.bind_model(model)
    flat = models.FlatWeights(tuple(tf.constant(w) for w in start), ())
    logits = tf.function(lambda: bound.predictions(flat, x))()
    tolerance.assert_close(tf.nn.softmax(logits), ref.probabilities(start, x))

  def test_sparse_gradients_come_dense(self):
    def create_model():
      model = tf.keras.Sequential(
        [
          tf.keras.layers.InputLayer((2,), dtype=tf.int32),
          tf.keras.layers.Embedding(5, 3),
          tf.keras.layers.Flatten(),
          tf.keras.layers.Dense(2),
        ]
      )
      return tff.learning.models.from_keras_model(
        model,
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        input_spec=(
          tf.TensorSpec([None, 2], tf.int32),
          tf.TensorSpec([None], tf.int32),
        ),
      )

    bound = models.bind_model(create_model)
    rng = np.random.default_rng(0)
    flat = models.FlatWeights(
      tuple(
        tf.constant(rng.normal(size=s), tf.float32)
        for s in ((5, 3), (6, 2), (2,))
      ),
      (),
    )
    x, y = tf.constant([[1, 3]]), tf.constant([0])
    gradients = tf.function(lambda: bound.loss_gradients(flat, x, y))()
    rows = np.abs(gradients[0].numpy()).sum(axis=1)
    np.testing.assert_array_equal(rows > 0, [False, True, False, True, False])


class EvaluationPassTest(parameterized.TestCase):
  @parameterized.named_parameters(*_KINDS)
  def test_equals_numpy(self, model):
    start = ref.initial_weights(2)
    batches = ref.make_batches(11, 0)

    @tff.tensorflow.computation(
      models.weights_type(model), models.data_type(model)
    )
    def evaluate(weights, dataset):
      unfinalized, num_examples = models.build_evaluation_pass(model)(
        weights, dataset
      )
      finalize = models.build_metrics_finalizer(model)
      return finalize(unfinalized), num_examples

    metrics, num_examples = evaluate(
      _weights(model, start), ref.to_dataset(batches)
    )
    x = np.concatenate([x for x, _ in batches])
    y = np.concatenate([y for _, y in batches])
    p = ref.probabilities(start, x)
    self.assertEqual(num_examples, 11)
    self.assertAlmostEqual(
      metrics['loss'], -np.log(p[np.arange(11), y]).mean(), places=5
    )
    self.assertAlmostEqual(
      metrics['accuracy'], (p.argmax(axis=1) == y).mean(), places=6
    )


class TypesTest(parameterized.TestCase):
  @parameterized.named_parameters(*_KINDS)
  def test_types(self, model):
    weights_type = models.weights_type(model)
    self.assertIs(
      weights_type.python_container, tff.learning.models.ModelWeights
    )
    self.assertEqual(
      [t.shape for t in tff.structure.flatten(weights_type)],
      [w.shape for w in ref.initial_weights()],
    )
    self.assertEqual(str(models.data_type(model)), '<float32[?,4],int32[?]>*')
    self.assertEqual(
      models.build_initial_weights(model).type_signature.result, weights_type
    )

  def test_functional_initial_weights_are_the_models_own(self):
    initial = models.build_initial_weights(ref.create_functional_model(7))()
    tolerance.assert_same(initial.trainable, ref.initial_weights(7))

  def test_models_that_could_learn_nothing(self):
    class NeverCalled(tf.keras.Model):
      def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(3)

      def call(self, inputs):
        return self.dense(inputs)

    model = ref.create_functional_model(7)
    kernel, *others = model.initial_weights[0]
    kernel = np.array(kernel)
    kernel[1, 2] = np.inf
    for model_fn, message in (
      (
        lambda: tff.learning.models.from_keras_model(
          NeverCalled(),
          loss=tf.keras.losses.MeanSquaredError(),
          input_spec=model.input_spec,
        ),
        'must have trainable weights, got none; a Keras model has them once',
      ),
      (
        supervised.replace_pass(model, model.predict_on_batch, ((), ())),
        'must have trainable weights, got none',
      ),
      (
        supervised.replace_pass(
          model, model.predict_on_batch, ((*others, kernel), ())
        ),
        rf'tensor {len(others)} of the model, of shape \(4, 5\), must start '
        'from finite numbers, got inf',
      ),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        models.build_initial_weights(model_fn)

  def test_weights_of_another_model_are_no_start(self):
    model = ref.create_functional_model(7)
    weights = [np.asarray(w) for w in model.initial_weights[0]]
    for trainable, others in (
      (weights[:-1], ()),
      (weights[::-1], ()),
      ([w.astype(np.float64) for w in weights], ()),
      (weights, weights[:1]),
    ):
      with self.assertRaisesRegex(
        errors.InputError, 'must be those of the mod'
      ):
        models.with_weights(
          model, tff.learning.models.ModelWeights(trainable, others)
        )

  def test_weights_survive_flattening(self):
    weights = tff.learning.models.ModelWeights(
      [tf.constant(1.0), [tf.constant(2.0)]], (tf.constant(3.0),)
    )
    flat = models.flatten_weights(weights)
    self.assertEqual([float(t) for t in flat.trainable], [1, 2])
    tf.nest.assert_same_structure(models.weights_like(weights, flat), weights)

  def test_split_batch(self):
    self.assertEqual(models.split_batch((1, 2)), (1, 2))
    self.assertEqual(
      models.split_batch(collections.OrderedDict(y=2, x=1)), (1, 2)
    )

  def test_what_is_no_model_is_refused(self):
    # The second could be called, but not to make a model.
    keras_model = tf.keras.Sequential([tf.keras.layers.Dense(2)], name='mine')
    for model, message in (
      (3, 'model is a int; a model must be'),
      (keras_model, "the Keras model 'mine'.*write .*create_keras_classifier"),
      (
        ref.create_variable_model(),
        'is a _KerasModel, whose variables are made alre',
      ),
    ):
      with self.assertRaisesRegex(TypeError, message):
        models.is_functional(model)

  def test_a_function_that_returns_no_new_model_is_refused(self):
    keras_model = tf.keras.Sequential([tf.keras.layers.Dense(2)], name='mine')
    made = ref.create_variable_model()
    for model_fn, message in (
      (
        lambda: keras_model,
        "The model function returns the Keras model 'mine'",
      ),
      (lambda: made, 'variables .*before'),
    ):
      with self.assertRaisesRegex(TypeError, message):
        models.data_type(model_fn)

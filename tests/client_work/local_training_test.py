# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Local training on its own, against NumPy and for both kinds of model."""

from fedfish_tff import client_work
from fedfish_tff import parameters
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


class LocalTrainingTest(absltest.TestCase):
  def test_equals_numpy_for_both_kinds_of_model(self):
    start = ref.initial_weights(2)
    batches = ref.make_batches(11, 0)
    expected = ref.train(start, batches, rate=0.3, epochs=3)
    sgd = tff.learning.optimizers.build_sgdm(0.3)
    for model, weights in (
      (
        ref.create_functional_model(),
        tff.learning.models.ModelWeights(start, ()),
      ),
      (
        ref.create_variable_model,
        tff.learning.models.ModelWeights(list(start), []),
      ),
    ):
      local_training = client_work.build_local_training(model, sgd)
      trained = local_training(weights, ref.to_dataset(batches, epochs=3))
      self.assertIsInstance(trained, tff.learning.models.ModelWeights)
      tolerance.assert_all_close(trained.trainable, expected)
      without_data = local_training(weights, ref.to_dataset([]))
      tolerance.assert_same(without_data.trainable, start)

  def test_non_trainable_weights_are_trained_too(self):
    def create_model():
      model = tf.keras.Sequential(
        [
          tf.keras.layers.InputLayer((ref.NUM_FEATURES,)),
          tf.keras.layers.BatchNormalization(momentum=0.0),
          tf.keras.layers.Dense(ref.NUM_CLASSES),
        ]
      )
      return tff.learning.models.from_keras_model(
        model,
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        input_spec=ref.input_spec(),
      )

    local_training = client_work.build_local_training(
      create_model, tff.learning.optimizers.build_sgdm(0.1)
    )
    with tf.Graph().as_default():
      shapes = tff.learning.models.ModelWeights.from_model(create_model())
      start = tff.learning.models.ModelWeights(
        [np.ones(v.shape, np.float32) for v in shapes.trainable],
        [np.ones(v.shape, np.float32) for v in shapes.non_trainable],
      )
    batches = ref.make_batches(4, 0)
    trained = local_training(start, ref.to_dataset(batches))
    # Momentum 0 makes the moving mean that of the last batch.
    tolerance.assert_close(trained.non_trainable[0], batches[0][0].mean(axis=0))


class CountBatchesOfAnEpochTest(absltest.TestCase):
  def test_whole_epochs(self):
    count = tf.function(client_work.count_batches_of_an_epoch)
    for num_batches, local_epochs in ((6, 3), (6, 1), (0, 2)):
      self.assertEqual(
        count(tf.constant(num_batches, tf.int64), local_epochs, method='M'),
        num_batches // local_epochs,
      )

  def test_what_is_no_whole_epochs(self):
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError, 'M was built with local_epochs=4'
    ):
      client_work.count_batches_of_an_epoch(
        tf.constant(6, tf.int64), 4, method='M'
      )

  def test_another_number_of_epochs_without_a_new_trace(self):
    @tff.tensorflow.computation(np.int64)
    def count(num_batches):
      return client_work.count_batches_of_an_epoch(num_batches, 4, method='M')

    with parameters.replaced({'local_epochs': 3}):
      self.assertEqual(count(12), 4)
    self.assertEqual(count(12), 3)


class CheckWholeEpochsTest(absltest.TestCase):
  def test_batches_that_straddle_epochs(self):
    examples = tf.data.Dataset.range(28)

    def count(batches, *, epochs=2, of_epochs=1):
      counts = [len(batch) for batch in batches]
      return client_work.check_whole_epochs(
        tf.constant(sum(counts[: len(counts) * of_epochs // epochs])),
        tf.constant(sum(counts)),
        epochs,
        of_epochs=of_epochs,
        method='M',
      )

    self.assertEqual(count(examples.batch(10).repeat(2)), 28)
    self.assertEqual(
      count(examples.batch(10).repeat(3), epochs=3, of_epochs=2), 56
    )
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'batch first'):
      count(examples.repeat(2).batch(10))

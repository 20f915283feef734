# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for autograph: whose code may branch over tensors."""

import collections

from fedfish_tff.client_work import local_training
from fedfish_tff.models import autograph
from fedfish_tff.models import label_samplers

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def _double_if_positive(x):
  if x > 0:
    x = 2 * x
  return x


class AutographTest(absltest.TestCase):
  def test_graph_functions_are_not_rewritten(self):
    function = autograph.graph_function(_double_if_positive)
    with self.assertRaises(tf.errors.OperatorNotAllowedInGraphError):
      function(tf.constant(3.0))

  def test_neither_is_what_they_hand_to_datasets(self):
    @autograph.graph_function
    def run(dataset):
      return dataset.reduce(0, lambda total, x: total + _double_if_positive(x))

    with self.assertRaises(tf.errors.OperatorNotAllowedInGraphError):
      run(tf.data.Dataset.range(3).map(lambda x: tf.cast(x, tf.int32)))

  def test_converted_code_may_branch_over_tensors(self):
    @autograph.graph_function
    def run(x):
      return autograph.convert(lambda x: _double_if_positive(x))(x)

    self.assertEqual(run(tf.constant(3.0)), 6.0)
    self.assertEqual(run(tf.constant(-3.0)), -3.0)

  def test_this_package_needs_no_conversion(self):
    sampler = label_samplers.categorical_label_sampler()
    self.assertIs(autograph.convert(sampler), sampler)

  def test_optimizers_of_tff_need_none_but_for_code_of_users_in_them(self):
    sgd = tff.learning.optimizers.build_sgdm(0.1)
    self.assertIs(autograph.convert(sgd.next).__func__, type(sgd).next)

    def schedule(round_number):
      rate = 0.5
      if round_number > 0:
        rate = 0.25
      return rate

    scheduled = tff.learning.optimizers.schedule_learning_rate(sgd, schedule)

    @tf.function
    def step(weight):
      state = scheduled.initialize(tf.TensorSpec([]))
      take_step = autograph.convert(scheduled.next)
      state, weight = take_step(state, weight, tf.constant(1.0))
      _, weight = take_step(state, weight, tf.constant(1.0))
      return weight

    self.assertEqual(step(tf.constant(1.0)), 1 - 0.5 - 0.25)


class CodeOfUsersTest(absltest.TestCase):
  def test_models_and_optimizers_may_branch_over_tensors(self):
    class Optimizer(tff.learning.optimizers.Optimizer):
      """Steps of one, towards where the gradient points."""

      def initialize(self, specs):
        del specs
        return ()

      def next(self, state, weights, gradients):
        step = 1.0
        if gradients[0] > 0:
          step = -1.0
        return state, (weights[0] + step,)

    @tf.function
    def predict(weights, x, training):
      del training
      (weight,), _ = weights
      if weight > 2:  # Gradients of the other sign.
        weight = -weight
      return weight * x

    def loss(output, label, sample_weight=None):
      del label, sample_weight
      if tf.size(output) > 0:
        output = tf.reduce_mean(output)
      else:
        output = 0.0
      return output

    model = tff.learning.models.FunctionalModel(
      initial_weights=((np.float32(1.0),), ()),
      predict_on_batch_fn=predict,
      loss_fn=loss,
      metrics_fns=(
        tf.function(lambda: ()),
        tf.function(lambda state, labels, batch_output, weight=None: state),
        tf.function(lambda state: collections.OrderedDict()),
      ),
      input_spec=(tf.TensorSpec([None]), tf.TensorSpec([None])),
    )
    train = local_training.build_local_training(model, Optimizer())
    batches = [(np.ones(2, np.float32), np.zeros(2, np.float32))]
    for start, end in ((1.5, 0.5), (3.0, 4.0)):
      with self.subTest(start=start):
        weights = tff.learning.models.ModelWeights((np.float32(start),), ())
        self.assertEqual(train(weights, batches).trainable[0], end)

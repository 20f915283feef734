# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Partitioned models, trained by the package's processes."""

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff import simulation
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_FEATURES = models.create_dense_features(num_inputs=4, hidden_units=[5], seed=0)
_MODEL = models.create_feature_classifier(
  _FEATURES, num_classes=3, temperature=0.1
)


def _sgd():
  return tff.learning.optimizers.build_sgdm(0.05)


class FineTuningTest(absltest.TestCase):
  def test_only_what_is_trained_travels(self):
    whole, probe = (
      simulation.measure_wire_bytes(
        algorithms.build_fed_avg(
          models.partition_model(
            _MODEL, models.fine_tuned_tensors(_MODEL, strategy)
          ).model,
          _sgd(),
        )
      )
      for strategy in (models.FineTuning.FT, models.FineTuning.FT_LP)
    )
    num_frozen = 4 * 5 + 5
    self.assertEqual(whole.download - probe.download, 4 * num_frozen)
    self.assertEqual(whole.upload - probe.upload, 4 * num_frozen)

  def test_a_strategy_is_a_member(self):
    with self.assertRaisesRegex(errors.InputError, "FineTuning, got 'FT-LP'"):
      models.fine_tuned_tensors(_MODEL, 'FT-LP')

  def test_ft_feat_needs_an_extractor_with_weights(self):
    model = models.create_feature_classifier(
      models.create_identity_features(4), num_classes=3
    )
    with self.assertRaisesRegex(errors.InputError, 'FT-FEAT .*weights'):
      models.fine_tuned_tensors(model, models.FineTuning.FT_FEAT)
    self.assertEqual(
      models.fine_tuned_tensors(model, models.FineTuning.FT_LP), (True, True)
    )


class PartitionModelTest(absltest.TestCase):
  def test_split_and_merge(self):
    partitioned = models.partition_model(_MODEL, (True, False, False, True))
    weights = tff.learning.models.ModelWeights(
      tuple(w + 1 for w in _MODEL.initial_weights[0]), ()
    )
    part = partitioned.split(weights)
    self.assertLen(part.trainable, 2)
    merged = partitioned.merge(part).trainable
    for a, e, t in zip(merged, weights.trainable, partitioned.trained):
      np.testing.assert_array_equal(a, e if t else e - 1)

  def test_bad_arguments(self):
    for trained in ((True,), (False,) * 4, (True,) * 5):
      with self.assertRaisesRegex(errors.InputError, 'each of 4 tensors'):
        models.partition_model(_MODEL, trained)
    for trained in ('head', _NAMES[:4], (0, 1, 2, 3)):
      with self.assertRaisesRegex(errors.InputError, 'trained must be True or'):
        models.partition_model(_MODEL, trained)
    other = tff.learning.models.ModelWeights((np.zeros([2, 2]),) * 4, ())
    with self.assertRaisesRegex(errors.InputError, 'start from'):
      models.partition_model(_MODEL, (True,) * 4, start=other)


_NAMES = (
  'hidden_1/kernel',
  'hidden_1/bias',
  'hidden_10/kernel',
  'hidden_10/bias',
  'output/kernel',
  'output/bias',
)


class SelectTensorsTest(absltest.TestCase):
  def test_by_layer_by_tensor_and_by_predicate(self):
    for select, expected in (
      (['hidden_1'], (1, 1, 0, 0, 0, 0)),
      (['hidden_10/bias', 'output'], (0, 0, 0, 1, 1, 1)),
      (lambda name: name.startswith('hidden'), (1, 1, 1, 1, 0, 0)),
    ):
      self.assertEqual(
        models.select_tensors(_NAMES, select), tuple(map(bool, expected))
      )

  def test_refuses_unknown_names_and_all_and_none(self):
    for select, message in (
      (['hidden'], "called 'hidden'"),
      (['hidden_1', 'kernel'], "called 'kernel'"),
      (['hidden_1', 'hidden_10', 'output'], '6 tensors .*got all'),
      ([], '6 tensors .*got none'),
      (lambda name: False, '6 tensors .*got none'),
    ):
      with self.assertRaisesRegex(
        errors.InputError, f'{message}.*there are: hidden_1/kernel, .*bias'
      ):
        models.select_tensors(_NAMES, select)

  def test_last_layer(self):
    self.assertEqual(models.last_layer(_NAMES), 'output')
    self.assertEqual(models.last_layer(['encoder/0/kernel', 'scale']), 'scale')


class SplitTensorsTest(absltest.TestCase):
  def test_split_and_join(self):
    chosen = (False, True, True, False)
    part, others = models.split_tensors('abcd', chosen)
    self.assertEqual((part, others), (('b', 'c'), ('a', 'd')))
    self.assertEqual(
      models.join_tensors(part, others, chosen), ('a', 'b', 'c', 'd')
    )
    with self.assertRaisesRegex(errors.InputError, 'each of the 4'):
      models.split_tensors('abcd', (True,))


class BindPartTest(absltest.TestCase):
  def test_is_the_whole_model_with_fewer_weights(self):
    model = ref.create_functional_model()
    whole = models.bind_model(model)
    weights = tuple(tf.constant(w) for w in ref.initial_weights())
    chosen = (True, False, True, False)
    part, frozen = models.split_tensors(weights, chosen)
    bound = models.bind_part(whole, chosen, frozen)
    flat = models.FlatWeights(part, ())
    ((x, y),) = ref.make_batches(4, 0)
    expected = [g for g, c in zip(ref.gradients(weights, x, y), chosen) if c]
    result = bound.training_gradients(flat, bound.initial_metrics(), (x, y))
    for found in (result.gradients, bound.loss_gradients(flat, x, y)):
      tolerance.assert_all_close(found, expected)
    vector = tuple(w if c else 0 * w for w, c in zip(weights, chosen))
    whole_product = ref.hessian_product(weights, x, y, vector)
    for a, e in zip(
      bound.hessian_product(flat, x, y, part),
      [p for p, c in zip(whole_product, chosen) if c],
      strict=True,
    ):
      # The gradient of a gradient.
      tolerance.assert_close(a, e, relative=2 * tolerance.FLOAT32_SUMS)
    tolerance.assert_close(
      tf.nn.softmax(bound.predictions(flat, x)), ref.probabilities(weights, x)
    )
    metrics, number = bound.evaluate_batch(
      flat, bound.initial_metrics(), (x, y)
    )
    self.assertEqual(number, 4)
    tolerance.assert_same(
      bound.unfinalized_metrics(metrics), result.metrics_state
    )

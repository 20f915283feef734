# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the shared part of client work, and of parts that are sent."""

import collections

from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff.client_work import partial_update
from tests import client_updates
from tests import numpy_reference as ref
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_SGD = tff.learning.optimizers.build_sgdm(0.3)
_MAKERS = {
  'fed_avg': client_work.build_model_delta_update,
  'fed_fish': client_work.build_fisher_delta_update,
}
_SELECTORS = {
  'share': client_work.build_share_selector(0.5),
  'coordinates': client_work.build_coordinate_selector(0.25),
}


def _keep_selected(update_fn, selector, batches):
  """Returns the sent part of an update on batches."""
  return client_updates.run_update(
    lambda bound, sent, *others: partial_update.keep_selected(
      update_fn(bound, sent, *others), sent.weights.trainable, selector
    ),
    batches,
  )


class PartialUpdateTest(parameterized.TestCase):
  @parameterized.product(maker=list(_MAKERS), selector=list(_SELECTORS))
  def test_what_is_not_sent_is_zero_and_the_rest_as_it_was(
    self, maker, selector
  ):
    batches = ref.make_batches(7, 0)
    whole_fn = _MAKERS[maker](_SGD)
    whole = client_updates.run_update(whole_fn, batches)
    part = _keep_selected(whole_fn, _SELECTORS[selector], batches)
    delta = [d.numpy() for d in whole.update['delta']]
    if selector == 'share':
      order = np.argsort([-np.linalg.norm(d) for d in delta])
      expected = [np.bool_(i in order[:2]) for i in range(4)]
    else:
      flat = np.abs(np.concatenate([np.ravel(d) for d in delta]))
      least = np.sort(flat)[-11]  # A quarter of 43.
      expected = [np.abs(d) >= least for d in delta]
    tolerance.assert_same(part.update['mask'], expected)
    for name in whole.update:
      for sent, all_of_it, e in zip(
        part.update['update'][name], whole.update[name], expected, strict=True
      ):
        np.testing.assert_array_equal(sent, np.where(e, all_of_it, 0))
    names = {'fed_avg': ['delta', 'mask'], 'fed_fish': ['delta', 'fisher']}
    self.assertEqual(list(part.update['update']), names[maker])
    self.assertEqual(part.weight, whole.weight)
    tf.nest.map_structure(
      np.testing.assert_array_equal, part.metrics, whole.metrics
    )

  def test_a_client_that_weighs_nothing_sends_nothing(self):
    result = _keep_selected(
      client_work.build_model_delta_update(_SGD),
      client_work.build_share_selector(1.0),
      [],
    )
    self.assertFalse(any(bool(m) for m in result.update['mask']))

  def test_a_client_that_is_left_out_sends_nothing(self):
    ((x, y),) = ref.make_batches(3, 0)
    result = _keep_selected(
      client_work.build_model_delta_update(_SGD),
      client_work.build_share_selector(0.5),
      [(np.full_like(x, np.nan), y)],
    )
    kept, _, excluded, _ = client_work.leave_out_non_finite(
      result, result.metrics
    )
    self.assertEqual(excluded, 1)
    self.assertFalse(any(bool(m) for m in kept.update['mask']))
    self.assertEqual(
      collections.Counter(
        float(np.abs(t).max()) for t in kept.update['update']['delta']
      ),
      {0.0: 4},
    )


_MODEL = ref.create_functional_model()
_START = ref.initial_weights()


def _count(bound, sent, own, dataset):
  """An update that tells what it was given: (batches, state, first weight)."""
  initial = bound.unfinalized_metrics(bound.initial_metrics())
  batches = dataset.reduce(0.0, lambda n, _: n + 1.0)
  return client_work.ClientUpdate(
    update=collections.OrderedDict(
      batches=batches,
      state=tf.cast(sent.state, tf.float32),
      # Three batches divide by zero.
      quotient=sent.weights.trainable[0][0, 0] / (batches - 3.0),
    ),
    weight=tf.constant(2.0),
    metrics=initial,
    own=tf.nest.map_structure(lambda t: t + 1, own),
  )


def _work(own_type=None):
  shapes = models.FlatWeights(tuple((np.float32, w.shape) for w in _START), ())
  work = client_work.build_client_work(
    _MODEL, _count, tff.to_type(client_work.Server(shapes, np.int32)), own_type
  )
  sent = client_work.Server(models.FlatWeights(_START, ()), 5)
  return lambda *others: work(sent, *others)


def _data(num_examples):
  return ref.to_dataset(ref.make_batches(num_examples, 0))


class BuildClientWorkTest(absltest.TestCase):
  def test_updates_and_exclusion(self):
    work, first = _work(), _START[0][0, 0]
    for num_examples, expected in (
      (4, [1, 5, first / -2]),
      (8, [2, 5, -first]),
      (12, [0, 0, 0]),
    ):
      output = work(_data(num_examples))
      excluded = num_examples == 12
      np.testing.assert_allclose(
        list(output.result.update.values()), expected, rtol=1e-6
      )
      self.assertEqual(output.result.update_weight, 0 if excluded else 2)
      self.assertEqual(output.excluded, excluded)

  def test_a_client_that_is_left_out_keeps_its_state(self):
    work = _work(tff.TensorType(np.int32))
    for num_examples, new_state, excluded in ((8, 7, 0), (12, 6, 1)):
      output = work(6, _data(num_examples))
      self.assertEqual(output.own, new_state)
      self.assertEqual(output.excluded, excluded)

  def test_weights(self):
    num_examples = tf.constant(7, tf.int64)
    weighting = tff.learning.ClientWeighting
    self.assertEqual(
      client_work.client_weight(num_examples, weighting.NUM_EXAMPLES), 7.0
    )
    self.assertEqual(
      client_work.client_weight(num_examples, weighting.UNIFORM), 1.0
    )
    for of in weighting:
      self.assertEqual(client_work.client_weight(tf.constant(0), of), 0.0)
    with self.assertRaisesRegex(
      errors.InputError, "^client_weighting must be .* UNIFORM, got 'uniform'"
    ):
      client_work.client_weight(num_examples, 'uniform')

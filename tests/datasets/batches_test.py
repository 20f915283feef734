# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a client's batches."""

import types

from fedfish_tff import errors
from fedfish_tff.datasets import batches

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_KEYS = dict(client_id='c', seed=1, round_number=2)


def _examples(n):
  """Distinct rows, so that an example is known by its value."""
  x = np.stack([np.arange(n), np.arange(n) + 0.5], axis=1).astype(np.float32)
  return x, np.arange(n, dtype=np.int32)


def _recompute(client_batches):
  """The batches by slicing lists, straight from the definition."""
  plan = client_batches.indices.tolist()
  n = len(plan) // client_batches.epochs
  x, y = client_batches.examples
  found = []
  for epoch in range(client_batches.epochs):
    left = plan[epoch * n : (epoch + 1) * n]
    while left:
      batch = left[: client_batches.batch_size]
      left = left[client_batches.batch_size :]
      found.append((x[batch], y[batch]))
  return found


def _assert_same_batches(found, expected):
  assert len(found) == len(expected), (len(found), len(expected))
  for (x, y), (expected_x, expected_y) in zip(found, expected):
    np.testing.assert_array_equal(x, expected_x)
    np.testing.assert_array_equal(y, expected_y)
    assert x.dtype == expected_x.dtype and y.dtype == expected_y.dtype


class PlanBatchesTest(parameterized.TestCase):
  @settings(max_examples=200, deadline=None)
  @given(
    n=st.integers(1, 60),
    batch_size=st.integers(1, 70),
    epochs=st.integers(1, 5),
    cap=st.one_of(st.none(), st.integers(1, 70)),
    shuffle=st.booleans(),
    seed=st.integers(0, 2**40),
    round_number=st.integers(0, 10**6),
    client_id=st.text(max_size=6),
  )
  def test_every_epoch_holds_the_same_examples_once(
    self, n, batch_size, epochs, cap, shuffle, seed, round_number, client_id
  ):
    spec = batches.BatchSpec(
      batch_size=batch_size, epochs=epochs, max_examples=cap, shuffle=shuffle
    )
    keys = dict(client_id=client_id, seed=seed, round_number=round_number)
    plan = batches.plan_batches(_examples(n), spec, **keys)
    again = batches.plan_batches(_examples(n), spec, **keys)
    np.testing.assert_array_equal(plan.indices, again.indices)

    capped = n if cap is None else min(n, cap)
    self.assertEqual(plan.num_examples, capped)
    self.assertEqual(plan.indices.dtype, np.int64)
    by_epoch = plan.indices.reshape(epochs, capped)
    subset = np.unique(by_epoch[0])
    self.assertLen(subset, capped)
    self.assertTrue(np.all((subset >= 0) & (subset < n)))
    for epoch in by_epoch:
      np.testing.assert_array_equal(np.sort(epoch), subset)
      if not shuffle:
        np.testing.assert_array_equal(epoch, subset)

    full, rest = divmod(capped, batch_size)
    sizes = [batch_size] * full + ([rest] if rest else [])
    found = list(plan)
    self.assertEqual([len(y) for _, y in found], sizes * epochs)
    self.assertEqual(plan.num_batches, len(found))
    self.assertLen(plan, len(found))
    _assert_same_batches(found, _recompute(plan))

  @parameterized.parameters(
    dict(seed=2), dict(round_number=3), dict(client_id='d')
  )
  def test_order_and_capped_subset_differ_by_key(self, **changed):
    spec = batches.BatchSpec(batch_size=10, max_examples=50)
    plan = batches.plan_batches(_examples(200), spec, **_KEYS)
    other = batches.plan_batches(_examples(200), spec, **{**_KEYS, **changed})
    self.assertFalse(np.array_equal(plan.indices, other.indices))
    self.assertNotEqual(set(plan.indices), set(other.indices))

  def test_epochs_differ_and_do_not_depend_on_how_many_follow(self):
    plans = [
      batches.plan_batches(
        _examples(50), batches.BatchSpec(batch_size=7, epochs=e), **_KEYS
      )
      for e in (2, 5)
    ]
    orders = plans[1].indices.reshape(5, 50)
    self.assertLen(np.unique(orders, axis=0), 5)
    np.testing.assert_array_equal(plans[0].indices, orders[:2].ravel())

  def test_order_does_not_depend_on_the_batch_size(self):
    plans = [
      batches.plan_batches(
        _examples(50), batches.BatchSpec(batch_size=b), **_KEYS
      )
      for b in (1, 50)
    ]
    np.testing.assert_array_equal(plans[0].indices, plans[1].indices)

  def test_capped_subset_is_uniform_over_rounds(self):
    spec = batches.BatchSpec(batch_size=10, max_examples=10)
    counts = np.zeros(40)
    for round_number in range(400):
      plan = batches.plan_batches(
        _examples(40), spec, client_id='c', seed=0, round_number=round_number
      )
      counts[plan.indices] += 1
    # Binomial(400, 1/4): five standard deviations around the mean of 100.
    self.assertLess(np.abs(counts - 100).max(), 5 * np.sqrt(400 * 0.25 * 0.75))

  def test_client_without_examples_has_no_batches(self):
    spec = batches.BatchSpec(batch_size=10, epochs=3)
    plan = batches.plan_batches(_examples(0), spec, **_KEYS)
    self.assertEqual((plan.num_examples, plan.num_batches), (0, 0))
    self.assertEmpty(list(plan))
    self.assertEmpty(list(plan.to_dataset()))

  @parameterized.product(
    field=['batch_size', 'epochs', 'max_examples'],
    value=[0, -1, 1.5, True, '10'],
  )
  def test_sizes_must_be_positive_integers(self, field, value):
    with self.assertRaisesRegex(
      errors.InputError, f'^{field} must be .*positive'
    ):
      batches.BatchSpec(**{'batch_size': 10, field: value})


class RowsTest(absltest.TestCase):
  @settings(max_examples=100, deadline=None)
  @given(
    n=st.integers(0, 20),
    batch_size=st.integers(1, 8),
    epochs=st.integers(1, 3),
    cap=st.none() | st.integers(1, 25),
  )
  def test_rows_and_bounds_cut_out_the_batches(
    self, n, batch_size, epochs, cap
  ):
    spec = batches.BatchSpec(
      batch_size=batch_size, epochs=epochs, max_examples=cap
    )
    plan = batches.plan_batches(_examples(n), spec, **_KEYS)
    used, places = plan.used_rows()
    x, y = plan.examples
    if plan.num_examples == n:
      self.assertIsNone(used)
    else:
      self.assertLen(used, plan.num_examples)
      x, y = x[used], y[used]
    self.assertEqual(plan.bounds().dtype, np.int64)
    rows = [places[start : start + size] for start, size in plan.bounds()]
    _assert_same_batches([(x[r], y[r]) for r in rows], _recompute(plan))

  def test_examples_that_are_used_more_than_once(self):
    repeated = batches.ClientBatches(
      client_id='c',
      examples=_examples(2),
      indices=np.array([0, 1, 1, 1]),
      epochs=1,
      batch_size=3,
    )
    used, places = repeated.used_rows()
    self.assertIsNone(used)
    self.assertIs(places, repeated.indices)


class ToDatasetTest(parameterized.TestCase):
  @parameterized.parameters(
    dict(n=23, batch_size=5, epochs=3, cap=None),
    dict(n=23, batch_size=5, epochs=2, cap=12),
    dict(n=20, batch_size=5, epochs=2, cap=None),
    dict(n=3, batch_size=10, epochs=2, cap=None),
    dict(n=1, batch_size=1, epochs=1, cap=1),
    dict(n=23, batch_size=100, epochs=4, cap=7),
  )
  def test_dataset_equals_numpy_recomputation(self, n, batch_size, epochs, cap):
    plan = batches.plan_batches(
      _examples(n),
      batches.BatchSpec(batch_size=batch_size, epochs=epochs, max_examples=cap),
      **_KEYS,
    )
    dataset = plan.to_dataset()
    expected = _recompute(plan)
    _assert_same_batches(list(dataset.as_numpy_iterator()), expected)
    # Read again: the order is fixed.
    _assert_same_batches(list(dataset.as_numpy_iterator()), expected)

  def test_batch_dimension_is_unknown(self):
    plan = batches.sequential_batches(
      _examples(20), client_id='c', batch_size=5
    )
    self.assertEqual(
      plan.to_dataset().element_spec,
      (
        tf.TensorSpec([None, 2], tf.float32),
        tf.TensorSpec([None], tf.int32),
      ),
    )

  def test_structure_and_dtypes_are_kept(self):
    examples = {
      'image': np.zeros([6, 4, 4, 1], np.uint8),
      'text': np.array([b'a', b'bc', b'', b'd', b'e', b'f']),
      'label': np.arange(6, dtype=np.int64),
    }
    plan = batches.sequential_batches(examples, client_id='c', batch_size=4)
    found = list(plan.to_dataset().as_numpy_iterator())
    self.assertEqual([len(batch['text']) for batch in found], [4, 2])
    self.assertEqual(found[0]['image'].dtype, np.uint8)
    self.assertEqual(list(found[1]['text']), [b'e', b'f'])
    np.testing.assert_array_equal(found[1]['label'], [4, 5])

  def test_survives_serialisation(self):
    plan = batches.plan_batches(
      _examples(11), batches.BatchSpec(batch_size=4, epochs=2), **_KEYS
    )
    element_spec = plan.to_dataset().element_spec
    graph = tf.raw_ops.DatasetToGraphV2(
      input_dataset=tf.data.experimental.to_variant(plan.to_dataset())
    )
    restored = tf.data.experimental.from_variant(
      tf.raw_ops.DatasetFromGraph(graph_def=graph), element_spec
    )
    _assert_same_batches(list(restored.as_numpy_iterator()), _recompute(plan))

  def test_graph_holds_the_rows_in_use_once(self):
    examples = (np.random.default_rng(0).random([1000, 100]), np.arange(1000))

    def graph_bytes(**spec):
      plan = batches.plan_batches(
        examples, batches.BatchSpec(batch_size=10, **spec), **_KEYS
      )
      graph = tf.raw_ops.DatasetToGraphV2(
        input_dataset=tf.data.experimental.to_variant(plan.to_dataset())
      )
      return len(graph.numpy())

    array_bytes = examples[0].nbytes
    self.assertBetween(graph_bytes(epochs=16), array_bytes, 1.5 * array_bytes)
    self.assertLess(graph_bytes(max_examples=100), 0.2 * array_bytes)


class SequentialBatchesTest(absltest.TestCase):
  def test_yields_all_examples_in_order(self):
    plan = batches.sequential_batches(
      _examples(10), client_id='c', batch_size=4
    )
    self.assertEqual(
      [y.tolist() for _, y in plan], [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    )

  def test_batch_size_must_be_positive(self):
    with self.assertRaisesRegex(errors.InputError, 'batch_size .*0'):
      batches.sequential_batches(_examples(3), client_id='c', batch_size=0)


class SplitTest(parameterized.TestCase):
  @settings(max_examples=100, deadline=None)
  @given(
    n=st.integers(2, 80),
    fraction=st.floats(0.01, 0.99),
    seed=st.integers(0, 1000),
    client_id=st.text(max_size=5),
  )
  def test_parts_are_disjoint_and_complete(self, n, fraction, seed, client_id):
    fine_tune, unseen = batches.split_rows(
      n, fraction=fraction, client_id=client_id, seed=seed
    )
    self.assertNotEmpty(fine_tune)
    self.assertNotEmpty(unseen)
    self.assertLess(abs(len(fine_tune) - fraction * n), 1.0001)
    self.assertCountEqual([*fine_tune, *unseen], range(n))
    for part in (fine_tune, unseen):
      self.assertTrue(np.all(np.diff(part) > 0))

  def test_split_differs_by_client_and_seed(self):
    def unseen(client_id, seed):
      _, rows = batches.split_rows(
        40, fraction=0.5, client_id=client_id, seed=seed
      )
      return rows.tolist()

    self.assertEqual(unseen('a', 0), unseen('a', 0))
    self.assertNotEqual(unseen('a', 0), unseen('b', 0))
    self.assertNotEqual(unseen('a', 0), unseen('a', 1))

  @settings(max_examples=50, deadline=None)
  @given(n=st.integers(4, 60), seed=st.integers(0, 100))
  def test_few_shot_scores_the_same_half_for_every_fraction(self, n, seed):
    keys = dict(client_id='c', seed=seed)
    none, quarter, half = (
      batches.split_few_shot(n, fraction=f, **keys) for f in (0, 0.25, 0.5)
    )
    _, unseen_of_split = batches.split_rows(n, fraction=0.5, **keys)
    for _, unseen in (none, quarter, half):
      np.testing.assert_array_equal(unseen, unseen_of_split)
    support = [set(part[0]) for part in (none, quarter, half)]
    self.assertEqual([len(s) for s in support], [0, n // 4, n // 2])
    self.assertLess(support[1], support[2])
    self.assertEmpty(support[2] & set(unseen_of_split))

  def test_too_few_examples_name_the_client(self):
    with self.assertRaisesRegex(
      errors.InputError, "'tiny' must have at least 2 .*got 1"
    ):
      batches.split_rows(1, fraction=0.5, client_id='tiny', seed=0)
    with self.assertRaisesRegex(errors.InputError, "'tiny' has 3 example"):
      batches.split_few_shot(3, fraction=0.25, client_id='tiny', seed=0)

  @parameterized.parameters(0, 1, -0.5, float('nan'))
  def test_split_fraction_is_checked(self, fraction):
    with self.assertRaisesRegex(errors.InputError, 'fraction'):
      batches.split_rows(8, fraction=fraction, client_id='c', seed=0)

  @parameterized.parameters(-0.1, 0.6, float('nan'))
  def test_few_shot_fraction_is_checked(self, fraction):
    with self.assertRaisesRegex(errors.InputError, 'few-shot fraction'):
      batches.split_few_shot(8, fraction=fraction, client_id='c', seed=0)


class _Context(tff.framework.SyncContext):
  def invoke(self, comp, arg):
    return arg


class _TakingContext(_Context):
  runner = types.SimpleNamespace(takes_client_batches=True)


class ToClientInputTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.batches = batches.sequential_batches(
      np.arange(5), client_id='a', batch_size=2
    )

  def test_where_the_context_takes_batches(self):
    with tff.framework.get_context_stack().install(_TakingContext()):
      found = batches.to_client_input(self.batches)
    self.assertIs(found, self.batches)

  def test_elsewhere(self):
    with tff.framework.get_context_stack().install(_Context()):
      found = batches.to_client_input(self.batches)
    self.assertIsInstance(found, tf.data.Dataset)
    self.assertEqual(
      [batch.tolist() for batch in found.as_numpy_iterator()],
      [[0, 1], [2, 3], [4]],
    )

# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Datasets in memory give the elements that tf.data gives, without reading."""

from fedfish_tff.execution.packing import dataset_rows
from fedfish_tff.execution.packing import sequence_packing
from tests.execution import packed_elements

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_COUNTS = st.integers(-1, 9)
_STEPS = st.lists(
  st.tuples(st.just('take'), _COUNTS)
  | st.tuples(st.just('skip'), _COUNTS)
  | st.tuples(st.just('repeat'), st.integers(0, 3))
  | st.tuples(st.just('prefetch'), st.integers(1, 3)),
  max_size=3,
)


def _apply(dataset, steps):
  for name, number in steps:
    dataset = getattr(dataset, name)(number)
  return dataset


def _slices(n):
  x = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
  return tf.data.Dataset.from_tensor_slices((x, x[:, 0].astype(bytes)))


class DatasetRowsTest(parameterized.TestCase):
  @hypothesis.settings(max_examples=80, deadline=None)
  @hypothesis.given(
    n=st.integers(1, 9),
    before=_STEPS,
    batch=st.none() | st.tuples(st.integers(1, 4), st.booleans()),
    after=_STEPS,
  )
  def test_elements_are_those_of_tf_data(self, n, before, batch, after):
    dataset = _apply(_slices(n), before)
    if batch:
      dataset = dataset.batch(batch[0], drop_remainder=batch[1])
    dataset = _apply(dataset, after).with_options(tf.data.Options())
    self.assertIsNotNone(dataset_rows.find_rows(dataset))
    packed = sequence_packing.pack_sequence(
      dataset, tff.types.tensorflow_to_type(dataset.element_spec)
    )
    packed_elements.assert_same_elements(
      packed_elements.elements(packed), list(dataset.as_numpy_iterator())
    )
    # Nothing travels that is in no element.
    self.assertLessEqual(
      len(packed.leaves[0]), max(n, packed.num_elements * (batch or (1,))[0])
    )

  def test_arrays_are_not_copied(self):
    tensor = tf.constant(np.arange(8.0))
    dataset = tf.data.Dataset.from_tensor_slices(tensor).batch(3).repeat(2)
    (leaf,), _ = dataset_rows.find_rows(dataset)
    self.assertTrue(np.shares_memory(leaf, np.asarray(tensor)))

  @parameterized.parameters(
    lambda ds: ds.shuffle(4, seed=1),
    lambda ds: ds.map(lambda x, y: (x + 1, y)),
    lambda ds: ds.batch(2).batch(2),
    lambda ds: ds.shuffle(4).batch(2).take(1),
    lambda ds: ds.repeat(10**9).take(3),
    lambda ds: ds.concatenate(ds),
    lambda _: tf.data.Dataset.range(3),
  )
  def test_other_steps_are_read(self, pipeline):
    self.assertIsNone(dataset_rows.find_rows(pipeline(_slices(5))))

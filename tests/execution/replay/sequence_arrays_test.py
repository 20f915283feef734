# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for sequence_arrays."""

from fedfish_tff.execution.packing import sequence_packing
from fedfish_tff.execution.replay import sequence_arrays

from absl.testing import absltest
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_ELEMENT_TYPE = tff.to_type(
  (tff.TensorType(np.float32, [None, 2]), tff.TensorType(np.int32, [None]))
)


def _cohort(sizes_of_clients):
  """Returns each client's batches, and the same packed."""
  clients = []
  next_number = 0
  for sizes in sizes_of_clients:
    elements = []
    for size in sizes:
      y = np.arange(next_number, next_number + size, dtype=np.int32)
      next_number += size
      elements.append((np.stack([y, -y], axis=1).astype(np.float32), y))
    clients.append(elements)
  return clients, [
    sequence_packing.pack_sequence(c, _ELEMENT_TYPE) for c in clients
  ]


def _tensors(nest):
  return tf.nest.map_structure(tf.constant, nest)


class ToGraphArraysTest(absltest.TestCase):
  def test_static_shapes(self):
    _, packed = _cohort([[4, 4, 3], [4, 1]])
    form, arrays = sequence_arrays.to_graph_arrays(packed, use_xla=True)
    self.assertEqual(form.bounds, (4,))
    for leaf in arrays['leaves']:
      self.assertLen(leaf, 16)

  def test_without_static_shapes_sizes_do_not_count(self):
    forms = {
      sequence_arrays.to_graph_arrays(_cohort(sizes)[1])[0]
      for sizes in ([[4, 3]], [[5], [1, 1]], [[]])
    }
    self.assertLen(forms, 1)


class ClientSequenceTest(absltest.TestCase):
  @hypothesis.settings(max_examples=25, deadline=None)
  @hypothesis.given(
    sizes=st.lists(
      st.lists(st.integers(0, 5), max_size=4), min_size=1, max_size=4
    ),
    use_xla=st.booleans(),
  )
  def test_gives_the_elements_of_each_client(self, sizes, use_xla):
    clients, packed = _cohort(sizes)
    form, arrays = sequence_arrays.to_graph_arrays(packed, use_xla=use_xla)
    for number, elements in enumerate(clients):
      sequence = sequence_arrays.client_sequence(
        form, _tensors(arrays), _ELEMENT_TYPE, tf.constant(number)
      )
      self.assertEqual(sequence.count.numpy(), len(elements))
      for i, expected in enumerate(elements):
        element = tf.function(sequence.element, jit_compile=use_xla)
        for leaf, found in zip(
          expected, element(tf.constant(i, tf.int64)), strict=True
        ):
          np.testing.assert_array_equal(found, leaf)

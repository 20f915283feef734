# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Parameters against arithmetic, wherever in a computation they stand."""

from fedfish_tff import errors
from fedfish_tff import parameters
from fedfish_tff.execution import contexts

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


@tff.tensorflow.computation(tff.SequenceType(np.float32))
def _at_client(dataset):
  """In a loop over examples, within a branch within a function."""

  @tf.function
  def scale(x):
    return tf.cond(
      x > 1.0, lambda: x * parameters.create('rate', 0.5), lambda: x
    )

  return dataset.reduce(0.0, lambda total, x: total + scale(x))


@tff.tensorflow.computation(np.float32)
def _at_server(total):
  return total * parameters.create('factor', 10.0)


@tff.federated_computation(
  tff.FederatedType(tff.SequenceType(np.float32), tff.CLIENTS)
)
def _round(data):
  total = tff.federated_sum(tff.federated_map(_at_client, data))
  return tff.federated_map(_at_server, total)


_DATA = [np.float32([1, 2, 4]), np.float32([8])]


class ParametersTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    contexts.set_default_context()

  def _run(self):
    data = [tf.data.Dataset.from_tensor_slices(d) for d in _DATA]
    one_by_one = np.float32(sum(_at_client(client) for client in data))
    return _round(data), one_by_one, _at_server(one_by_one)

  def test_is_what_it_is_replaced_by_at_the_time(self):
    for rate, factor in ((0.5, 10.0), (0.25, 10.0), (2.0, 3.0), (0.5, 10.0)):
      total = 1 + rate * (2 + 4 + 8)
      with parameters.replaced({'rate': rate, 'factor': factor, 'other': 7.0}):
        self.assertEqual(self._run(), (total * factor, total, total * factor))
    self.assertEqual(self._run(), (80.0, 8.0, 80.0))

  def test_an_inner_replacement_ends_where_it_ends(self):
    with parameters.replaced({'rate': 2.0}):
      with parameters.replaced({'rate': 3.0, 'factor': 1.0}):
        self.assertEqual(_at_server(np.float32(4)), 4.0)
      self.assertEqual(self._run()[1], 1 + 2 * 14)
      self.assertEqual(_at_server(np.float32(4)), 40.0)

  def test_tensorflow_knows_a_constant(self):
    with tf.Graph().as_default() as graph:
      parameter = parameters.create('rate', 0.5)
      with parameters.replaced({'rate': 2.0}):
        with tf.compat.v1.Session(graph=graph) as session:
          self.assertEqual(session.run(3 * parameter), 1.5)
    self.assertEqual(parameters.create('rate', 0.5).numpy(), 0.5)

  def test_graphs_tell_it_from_other_nodes(self):
    with tf.Graph().as_default() as graph:
      parameters.create('rate', 0.5)
      tf.compat.v1.placeholder_with_default(1.0, [])
    found = [parameters.read(node) for node in graph.as_graph_def().node]
    self.assertCountEqual(
      [parameter for parameter in found if parameter],
      [parameters.Parameter('rate', 0.5)],
    )

  def test_computations_tell_their_names(self):
    self.assertEqual(parameters.names_in(_at_client), {'rate'})
    self.assertEqual(parameters.names_in(_at_server), {'factor'})
    self.assertEqual(parameters.names_in(_round), {'rate', 'factor'})

  def test_contexts_that_know_no_parameters_are_refused(self):
    parameters.check_replaced_here('a schedule')
    with (
      contexts.create_context('local_worker') as context,
      tff.framework.get_context_stack().install(context),
      self.assertRaisesRegex(
        errors.InputError, 'must be .* such as cohort, for a schedule, got'
      ),
    ):
      parameters.check_replaced_here('a schedule')

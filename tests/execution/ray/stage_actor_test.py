# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for stage_actor, as any object: Ray need not be there."""

import dataclasses
import pickle
from unittest import mock

from fedfish_tff import datasets
from fedfish_tff import loop_compilation
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import sequence_packing
from fedfish_tff.execution.ray import stage_actor
from fedfish_tff.execution.ray import stage_values
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.replay import compiled_loops
from tests.execution import client_computations
from tests.execution.pjrt import accelerator

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_INTS = tff.SequenceType(np.int64)


def _reciprocals():
  """Returns the sum of 1 / x over clients, which fails where x is 0."""

  def reciprocal(x):
    with tf.control_dependencies([tf.debugging.Assert(x > 0.0, ['it is 0'])]):
      return 1.0 / x

  return client_computations.sum_of_clients(reciprocal, np.float32)


def _digits(dataset):
  return dataset.reduce(np.int64(0), lambda number, n: 10 * number + n)


def _digits_twice(dataset):
  first = _digits(dataset)
  with tf.control_dependencies([first]):
    return 10**5 * first + _digits(dataset)


class StageActorTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    comp = _reciprocals()
    plan = federated_plan.compile_plan(comp)
    (self.stage,) = stage_actor.stages_of(plan)
    proto = tff.framework.serialize_computation(comp)
    self.computation = proto.SerializeToString(deterministic=True)
    self.plan = plan

  def _run(self, *values, **changes):
    (client_input,) = self.stage.client_inputs
    ((aggregate),) = self.stage.aggregates
    work = stage_actor.StageWork(
      number=0,
      signature=stage_actor.signature_of(self.stage),
      clients={client_input: [[np.float32(v)] for v in values]},
      positions=[3 * i for i in range(len(values))],
      cohort_size=9,
      parameters={},
    )
    return stage_actor.StageActor().run(
      self.computation,
      {aggregate.zero: [np.float32(0)]},
      dataclasses.replace(work, **changes),
    )

  def test_sums(self):
    found = self._run(2.0, 4.0)
    ((total,),) = found.accumulators
    self.assertEqual(total, 0.75)
    self.assertEmpty(found.reasons)

  def test_a_client_that_fails_is_named(self):
    failure = self._run(2.0, 0.0)
    self.assertEqual(failure.code, tf.errors.INVALID_ARGUMENT)
    self.assertIn('Client 4 of 9', failure.message)
    self.assertIn('it is 0', failure.message)

  def test_stages_that_differ_are_refused(self):
    with self.assertRaisesRegex(RuntimeError, 'different stages'):
      self._run(2.0, signature='another')


class LoopsTest(absltest.TestCase):
  def test_marked_loops_are_compiled_for_the_cohort_s_batch_size(self):
    if not accelerator.COMPARES_BOUNDS:
      self.skipTest('this TensorFlow compiles no loop')

    def work(batches):
      def add(total, x):
        with loop_compilation.mark():
          return total + tf.matmul(x, x, transpose_a=True)

      return batches.reduce(tf.zeros([2, 2]), add)

    rows = tff.SequenceType(tff.TensorType(np.float32, [None, 2]))
    comp = client_computations.sum_of_clients(work, rows)
    (stage,) = stage_actor.stages_of(federated_plan.compile_plan(comp))
    (client_input,), (aggregate,) = stage.client_inputs, stage.aggregates
    clients = [
      stage_values.to_arrays(
        datasets.sequential_batches(
          np.ones([n, 2], np.float32), client_id=str(n), batch_size=4
        ),
        rows,
        sequence_packing.pack_sequence,
      )
      for n in (1, 9)
    ]
    sent = stage_actor.StageWork(
      number=0,
      signature=stage_actor.signature_of(stage),
      clients={client_input: clients},
      positions=[0, 1],
      cohort_size=2,
      parameters={},
    )
    proto = tff.framework.serialize_computation(comp)
    with mock.patch.object(
      compiled_loops, 'call', side_effect=compiled_loops.call
    ) as compiled:
      found = stage_actor.StageActor().run(
        proto.SerializeToString(deterministic=True),
        {aggregate.zero: [np.zeros([2, 2], np.float32)]},
        pickle.loads(pickle.dumps(sent)),
      )
    compiled.assert_called_once()
    ((total,),) = found.accumulators
    np.testing.assert_array_equal(total, np.full([2, 2], 10.0))


class PassesTest(absltest.TestCase):
  """Packed passes over a dataset that each pass shuffles anew."""

  def setUp(self):
    super().setUp()
    self.actor = stage_actor.StageActor()

  def _run(self, client_fn, dataset, roots):
    comp = client_computations.at_clients(client_fn, _INTS)
    (stage,) = stage_actor.stages_of(federated_plan.compile_plan(comp))
    (client_input,) = stage.client_inputs
    arrays = stage_values.to_arrays(
      dataset, _INTS, sequence_packing.pack_sequence, iter([roots])
    )
    work = stage_actor.StageWork(
      number=0,
      signature=stage_actor.signature_of(stage),
      clients={client_input: [arrays]},
      positions=[0],
      cohort_size=1,
      parameters={},
    )
    proto = tff.framework.serialize_computation(comp)
    found = self.actor.run(
      proto.SerializeToString(deterministic=True), {}, work
    )
    (out,) = stage.outputs
    ((number,),) = found.outputs[out]
    return int(number), found.reasons

  def test_too_few_are_refused_with_those_to_pack(self):
    dataset = tf.data.Dataset.range(1, 6).shuffle(5, seed=2)
    digits = [n for _ in range(2) for n in dataset.as_numpy_iterator()]
    with self.assertRaises(packed_sequences.FewPassesError) as raised:
      self._run(_digits_twice, dataset, ())
    # As Ray sends it.
    (roots,) = pickle.loads(pickle.dumps(raised.exception)).roots.values()
    number, reasons = self._run(_digits_twice, dataset, roots)
    self.assertEqual(str(number), ''.join(map(str, digits)))
    self.assertEmpty(reasons)

  def test_as_many_of_another_kind_are_refused(self):
    """One seed may draw the orders of all repetitions."""
    dataset = tf.data.Dataset.range(1, 6).shuffle(5, seed=2)
    twice = (packed_sequences.Root(0, 1, True),) * 2
    with self.assertRaises(packed_sequences.FewPassesError):
      self._run(lambda d: _digits(d.repeat(2)), dataset, twice)

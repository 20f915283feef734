# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for stage_actor, as any object: Ray need not be there."""

import dataclasses

from fedfish_tff.execution.ray import stage_actor
from fedfish_tff.execution.reading import federated_plan
from tests.execution import client_computations

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def _reciprocals():
  """Returns the sum of 1 / x over clients, which fails where x is 0."""

  def reciprocal(x):
    with tf.control_dependencies([tf.debugging.Assert(x > 0.0, ['it is 0'])]):
      return 1.0 / x

  return client_computations.sum_of_clients(reciprocal, np.float32)


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

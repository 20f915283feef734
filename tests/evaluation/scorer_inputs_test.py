# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of one client's input to the evaluations."""

import types

from fedfish_tff import datasets
from fedfish_tff.evaluation import scorer_inputs

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff


def _examples(start, stop):
  """Examples that tell which they are."""
  x = np.arange(start, stop, dtype=np.float32)[:, np.newaxis]
  return x, 10 * x


class _TakingContext(tff.framework.SyncContext):
  runner = types.SimpleNamespace(takes_client_batches=True)

  def invoke(self, comp, arg):
    raise AssertionError('Nothing is computed here.')


class EvaluationInputsTest(absltest.TestCase):
  def test_arrays_are_not_copied_where_the_context_takes_them(self):
    client = datasets.plan_batches(
      _examples(0, 6),
      datasets.BatchSpec(batch_size=2, max_examples=4),
      client_id='c',
      seed=1,
      round_number=1,
    )
    with tff.framework.get_context_stack().install(_TakingContext()):
      built = scorer_inputs.build_barrier_input(client, eval_batch_size=3)
    self.assertIs(built['train'], client)
    self.assertIs(built['test'].examples, client.examples)
    self.assertEqual([len(x) for x, _ in built['test']], [3, 1])

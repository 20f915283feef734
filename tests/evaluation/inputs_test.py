# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of one client's input to the evaluations."""

from fedfish_tff import datasets
from fedfish_tff.evaluation import inputs

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff


def _examples(start, stop):
  """Examples that tell which they are."""
  x = np.arange(start, stop, dtype=np.float32)[:, np.newaxis]
  return x, 10 * x


def _batches(client_input):
  return [
    (np.asarray(x)[:, 0].tolist(), np.asarray(y)[:, 0].tolist())
    for x, y in client_input
  ]


class _TakingContext(tff.framework.SyncContext):
  takes_client_batches = True

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
      built = inputs.build_barrier_input(client, eval_batch_size=3)
    self.assertIs(built['train'], client)
    self.assertIs(built['eval'].examples, client.examples)
    self.assertEqual([len(x) for x, _ in built['eval']], [3, 1])

  def test_the_barrier_is_scored_on_what_the_round_trained_on(self):
    client = datasets.ClientBatches(
      client_id='c',
      examples=_examples(0, 6),
      indices=np.array([4, 0, 3, 3, 4, 0]),  # Two epochs of three examples.
      epochs=2,
      batch_size=2,
    )
    built = inputs.build_barrier_input(client, eval_batch_size=2)
    self.assertEqual(list(built), ['train', 'eval'])
    train = _batches(built['train'])
    self.assertEqual([x for x, _ in train], [[4, 0], [3], [3, 4], [0]])
    self.assertEqual(
      _batches(built['eval']),
      [([0, 3], [0, 30]), ([4], [40])],
    )

  def test_personalization_trains_and_scores_apart(self):
    built = inputs.build_personalization_input(
      _examples(0, 3),
      _examples(3, 6),
      client_id='c',
      batch_spec=datasets.BatchSpec(batch_size=2, epochs=2),
      eval_batch_size=2,
      seed=1,
    )
    self.assertEqual(list(built), ['train', 'test'])
    train = [x for x, _ in _batches(built['train'])]
    self.assertEqual([len(x) for x in train], [2, 1, 2, 1])
    for epoch in (train[:2], train[2:]):
      self.assertCountEqual(sum(epoch, []), [0, 1, 2])
    self.assertEqual(
      _batches(built['test']),
      [([3, 4], [30, 40]), ([5], [50])],
    )
